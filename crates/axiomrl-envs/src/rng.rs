//! Named random streams.
//!
//! One seed gives as many independent generators as there are names: they share a ChaCha key and differ in the stream
//! number, so drawing more from one never shifts another.

use crate::EnvError;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The generator used everywhere.
pub type Rng = ChaCha8Rng;

/// The generator called `name` (`env/0`, `act`, `store` …) of a run with this `seed`.
pub fn stream(seed: u64, name: &str) -> Rng {
    let mut rng = Rng::seed_from_u64(seed);
    rng.set_stream(fnv1a_64(name.as_bytes()));
    rng
}

/// A generator's exact position, in a form that any JSON reader keeps whole: numbers past 2^53 travel as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RngState {
    seed: [u8; 32],
    stream: String,
    word_pos: String,
}

impl RngState {
    pub fn of(rng: &Rng) -> Self {
        Self { seed: rng.get_seed(), stream: rng.get_stream().to_string(), word_pos: rng.get_word_pos().to_string() }
    }

    pub fn to_rng(&self) -> Result<Rng, EnvError> {
        let stream = self.stream.parse().map_err(|_| damaged(format!("`{}` is not a stream number", self.stream)))?;
        let position = self.word_pos.parse().map_err(|_| damaged(format!("`{}` is not a position", self.word_pos)))?;
        let mut rng = Rng::from_seed(self.seed);
        rng.set_stream(stream);
        rng.set_word_pos(position);
        Ok(rng)
    }
}

pub fn save_rng(rng: &Rng) -> Value {
    serde_json::json!(RngState::of(rng))
}

/// The generator that [`save_rng`] saw, about to give the same next number.
pub fn load_rng(value: &Value) -> Result<Rng, EnvError> {
    RngState::deserialize(value).map_err(|error| damaged(error.to_string()))?.to_rng()
}

fn damaged(problem: String) -> EnvError {
    EnvError::BadSnapshot { env: "random generator".into(), problem }
}

/// FNV-1a: short, stable across versions and platforms, which is all a stream name needs.
fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn hash_matches_the_published_test_vectors() {
        assert_eq!(fnv1a_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn streams_are_repeatable_and_differ_by_name_and_seed() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(1, "env/0"), first(1, "env/0"));
        assert_ne!(first(1, "env/0"), first(1, "env/1"));
        assert_ne!(first(1, "env/0"), first(2, "env/0"));
    }

    #[test]
    fn a_saved_generator_goes_on_at_the_exact_word() {
        let mut rng = stream(7, "act");
        for drawn in 0..70 {
            let mut copy = load_rng(&save_rng(&rng)).unwrap();
            assert_eq!(copy.next_u64(), rng.clone().next_u64(), "after {drawn} words");
            rng.next_u32();
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(load_rng(&serde_json::json!({"seed": [1, 2], "stream": "1", "word_pos": "0"})).is_err());
        let mut saved = save_rng(&stream(1, "x"));
        saved["word_pos"] = "minus one".into();
        assert!(load_rng(&saved).unwrap_err().to_string().contains("minus one"));
    }
}
