//! Little-endian columns, for stores that go to a file.

use axiomrl_envs::{ObsMut, ObsRef};
use std::io::{self, Read, Write};

/// Numbers converted at a time: large enough that the calls cost nothing, small enough for the stack's neighbourhood.
const CHUNK: usize = 4096;

pub(crate) fn write_u64(w: &mut dyn Write, value: u64) -> io::Result<()> {
    w.write_all(&value.to_le_bytes())
}

pub(crate) fn read_u64(r: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    r.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

pub(crate) fn write_f64(w: &mut dyn Write, value: f64) -> io::Result<()> {
    write_u64(w, value.to_bits())
}

pub(crate) fn read_f64(r: &mut dyn Read) -> io::Result<f64> {
    Ok(f64::from_bits(read_u64(r)?))
}

pub(crate) fn write_f32s(w: &mut dyn Write, values: &[f32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(4 * CHUNK.min(values.len()));
    for chunk in values.chunks(CHUNK) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|v| v.to_le_bytes()));
        w.write_all(&bytes)?;
    }
    Ok(())
}

pub(crate) fn read_f32s(r: &mut dyn Read, values: &mut [f32]) -> io::Result<()> {
    let mut bytes = vec![0; 4 * CHUNK.min(values.len())];
    for chunk in values.chunks_mut(CHUNK) {
        let bytes = &mut bytes[..4 * chunk.len()];
        r.read_exact(bytes)?;
        for (value, four) in chunk.iter_mut().zip(bytes.chunks_exact(4)) {
            *value = f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        }
    }
    Ok(())
}

pub(crate) fn write_bools(w: &mut dyn Write, values: &[bool]) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().map(|&v| u8::from(v)).collect();
    w.write_all(&bytes)
}

pub(crate) fn read_bools(r: &mut dyn Read, values: &mut [bool]) -> io::Result<()> {
    let mut bytes = vec![0; values.len()];
    r.read_exact(&mut bytes)?;
    for (value, byte) in values.iter_mut().zip(bytes) {
        *value = match byte {
            0 => false,
            1 => true,
            other => return Err(damaged(format!("{other} where 0 or 1 was expected"))),
        };
    }
    Ok(())
}

/// Rows of observations: the block of numbers, then the block of bytes.
pub(crate) fn write_obs(w: &mut dyn Write, rows: ObsRef<'_>) -> io::Result<()> {
    write_f32s(w, rows.floats)?;
    w.write_all(rows.bytes)
}

pub(crate) fn read_obs(r: &mut dyn Read, into: ObsMut<'_>) -> io::Result<()> {
    read_f32s(r, into.floats)?;
    r.read_exact(into.bytes)
}

/// Refuses what goes on after its end.
pub(crate) fn end_of(r: &mut dyn Read, what: &str) -> io::Result<()> {
    match r.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(damaged(format!("there is more than {what} in it"))),
    }
}

pub(crate) fn damaged(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the saved store is damaged: {problem}"))
}

/// Refuses a file that was written for a store of another shape.
pub(crate) fn check_shape(r: &mut dyn Read, what: &str, expected: &[(&str, u64)]) -> io::Result<()> {
    for &(name, expected) in expected {
        let found = read_u64(r)?;
        if found != expected {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the saved {what} has {name} = {found}, this run has {expected}: resume with the configuration it \
                     was saved with"
                ),
            ));
        }
    }
    Ok(())
}

pub(crate) fn write_shape(w: &mut dyn Write, values: &[(&str, u64)]) -> io::Result<()> {
    values.iter().try_for_each(|&(_, value)| write_u64(w, value))
}
