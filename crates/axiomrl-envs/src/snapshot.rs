//! States as bytes and back: small typed states as JSON, arrays as they lie in memory.

use crate::{EnvError, ObsMut, ObsRef, Rng};
use rand::SeedableRng;
use serde::{Serialize, de::DeserializeOwned};

/// A small state of numbers and strings, as the bytes of its JSON form. For states of plain fields this cannot fail.
pub fn to_bytes<T: Serialize>(state: &T) -> Vec<u8> {
    serde_json::to_vec(state).expect("a plain state has a JSON form")
}

/// Reads what [`to_bytes`] wrote; the error names whose snapshot was at fault.
pub fn from_bytes<T: DeserializeOwned>(env: &str, bytes: &[u8]) -> Result<T, EnvError> {
    serde_json::from_slice(bytes).map_err(|e| EnvError::bad_snapshot(env, e.to_string()))
}

/// Refuses a snapshot of another size before any of it is used.
pub fn check_len(env: &str, what: &str, found: usize, needed: usize) -> Result<(), EnvError> {
    if found == needed {
        return Ok(());
    }
    let problem = format!("it holds {found} {what} where {needed} are needed; was it made with other settings?");
    Err(EnvError::bad_snapshot(env, problem))
}

/// Puts a snapshot together piece by piece.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    pub fn whole(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn real(&mut self, value: f64) -> &mut Self {
        self.whole(value.to_bits())
    }

    pub fn floats(&mut self, values: &[f32]) -> &mut Self {
        self.whole(values.len() as u64);
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.whole(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn bools(&mut self, values: &[bool]) -> &mut Self {
        self.whole(values.len() as u64);
        self.0.extend(values.iter().map(|&value| u8::from(value)));
        self
    }

    pub fn obs(&mut self, rows: ObsRef<'_>) -> &mut Self {
        self.floats(rows.floats).bytes(rows.bytes)
    }

    pub fn rng(&mut self, rng: &Rng) -> &mut Self {
        self.bytes(&rng.get_seed()).whole(rng.get_stream());
        self.0.extend_from_slice(&rng.get_word_pos().to_le_bytes());
        self
    }
}

/// Takes apart what a [`Writer`] put together. Every length is checked against what is needed before anything is copied.
pub struct Reader<'a> {
    owner: &'a str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// `owner` is named in errors.
    pub fn new(owner: &'a str, bytes: &'a [u8]) -> Self {
        Self { owner, rest: bytes }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], EnvError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(EnvError::bad_snapshot(self.owner, "it is shorter than it should be"));
        };
        self.rest = rest;
        Ok(taken)
    }

    pub fn whole(&mut self) -> Result<u64, EnvError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn real(&mut self) -> Result<f64, EnvError> {
        Ok(f64::from_bits(self.whole()?))
    }

    fn length(&mut self, what: &str, needed: usize) -> Result<(), EnvError> {
        let found = usize::try_from(self.whole()?).unwrap_or(usize::MAX);
        check_len(self.owner, what, found, needed)
    }

    pub fn floats(&mut self, what: &str, out: &mut [f32]) -> Result<(), EnvError> {
        self.length(what, out.len())?;
        let taken = self.take(4 * out.len())?;
        for (value, bytes) in out.iter_mut().zip(taken.chunks_exact(4)) {
            *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }

    pub fn bytes(&mut self, what: &str, out: &mut [u8]) -> Result<(), EnvError> {
        self.length(what, out.len())?;
        out.copy_from_slice(self.take(out.len())?);
        Ok(())
    }

    /// Bytes of any length, such as another's snapshot.
    pub fn blob(&mut self) -> Result<&'a [u8], EnvError> {
        let length = usize::try_from(self.whole()?).unwrap_or(usize::MAX);
        self.take(length)
    }

    pub fn bools(&mut self, what: &str, out: &mut [bool]) -> Result<(), EnvError> {
        self.length(what, out.len())?;
        let taken = self.take(out.len())?;
        for (value, &byte) in out.iter_mut().zip(taken) {
            *value = byte != 0;
        }
        Ok(())
    }

    pub fn obs(&mut self, out: ObsMut<'_>) -> Result<(), EnvError> {
        self.floats("observed numbers", out.floats)?;
        self.bytes("observed bytes", out.bytes)
    }

    pub fn rng(&mut self) -> Result<Rng, EnvError> {
        let mut seed = [0; 32];
        self.bytes("bytes of a seed", &mut seed)?;
        let stream = self.whole()?;
        let mut position = [0; 16];
        position.copy_from_slice(self.take(16)?);
        let mut rng = Rng::from_seed(seed);
        rng.set_stream(stream);
        rng.set_word_pos(u128::from_le_bytes(position));
        Ok(rng)
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<(), EnvError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(EnvError::bad_snapshot(self.owner, "it is longer than it should be"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::Rng as _;

    #[test]
    fn what_was_put_together_comes_apart_again() {
        let mut rng = stream(3, "snapshot");
        rng.next_u32();
        let mut writer = Writer::default();
        writer.whole(7).real(-0.5).floats(&[1.0, f32::NAN]).bools(&[true, false]).bytes(b"inner").rng(&rng);
        let bytes = writer.finish();
        let mut reader = Reader::new("Test", &bytes);
        let (mut floats, mut bools) = ([0.0; 2], [false; 2]);
        assert_eq!((reader.whole().unwrap(), reader.real().unwrap()), (7, -0.5));
        reader.floats("numbers", &mut floats).unwrap();
        reader.bools("flags", &mut bools).unwrap();
        assert!(floats[1].is_nan() && bools == [true, false]);
        assert_eq!(reader.blob().unwrap(), b"inner");
        assert_eq!(reader.rng().unwrap().next_u64(), rng.next_u64());
        reader.end().unwrap();
    }

    #[test]
    fn another_size_a_cut_and_a_rest_are_refused() {
        let mut writer = Writer::default();
        writer.floats(&[1.0; 3]);
        let bytes = writer.finish();
        let refused = Reader::new("Test", &bytes).floats("numbers", &mut [0.0; 2]).unwrap_err().to_string();
        assert!(refused.contains("3 numbers where 2 are needed"), "{refused}");
        assert!(Reader::new("Test", &bytes[..10]).floats("numbers", &mut [0.0; 3]).is_err());
        assert!(Reader::new("Test", &bytes).end().is_err());
        let huge = u64::MAX.to_le_bytes();
        assert!(Reader::new("Test", &huge).blob().is_err());
    }
}
