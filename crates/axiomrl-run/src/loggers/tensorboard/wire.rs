//! The two formats an event file is made of: TFRecord frames, each holding one protobuf `Event`.
//!
//! Only the fields used are known here: `Event { wall_time = 1; step = 2; file_version = 3; summary = 5 }`,
//! `Summary { value = 1 }`, `Value { tag = 1; simple_value = 2; metadata = 9 }`, and in the metadata the name of the
//! plugin that shows the value.

use std::io::{self, Read, Write};

// The kinds of fields protobuf has.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// The event every file begins with.
pub(super) fn version_event(wall_time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    put_double(&mut event, 1, wall_time);
    put_bytes(&mut event, 3, b"brain.Event:2");
    event
}

/// An event with one scalar per metric.
pub(super) fn scalar_event<'a>(step: u64, wall_time: f64, scalars: impl Iterator<Item = (&'a str, f64)>) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, value) in scalars {
        let (mut plugin_name, mut metadata, mut entry) = (Vec::new(), Vec::new(), Vec::new());
        put_bytes(&mut plugin_name, 1, b"scalars");
        put_bytes(&mut metadata, 1, &plugin_name);
        put_bytes(&mut entry, 1, tag.as_bytes());
        put_key(&mut entry, 2, FIXED32);
        entry.extend((value as f32).to_le_bytes());
        put_bytes(&mut entry, 9, &metadata);
        put_bytes(&mut summary, 1, &entry);
    }
    let mut event = Vec::new();
    put_double(&mut event, 1, wall_time);
    put_key(&mut event, 2, VARINT);
    put_varint(&mut event, step);
    put_bytes(&mut event, 5, &summary);
    event
}

/// The step of an event (0 if it has none), or `None` if it is not an event.
pub(super) fn step_of(event: &[u8]) -> Option<u64> {
    fields(event)?.into_iter().try_fold(0, |step, field| match field {
        (2, Field::Varint(found)) => Some(found),
        (2, _) => None,
        _ => Some(step),
    })
}

/// A field of a message, as far as the format tells it.
#[derive(Debug, PartialEq)]
pub(super) enum Field<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(&'a [u8]),
}

/// Takes a message apart; `None` if it is not one.
pub(super) fn fields(mut message: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = take_varint(&mut message)?;
        let field = match key & 7 {
            VARINT => Field::Varint(take_varint(&mut message)?),
            FIXED64 => Field::Fixed64(*take_chunk(&mut message)?),
            FIXED32 => Field::Fixed32(*take_chunk(&mut message)?),
            BYTES => {
                let length = usize::try_from(take_varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(length)?;
                message = rest;
                Field::Bytes(bytes)
            }
            _ => return None,
        };
        found.push((key >> 3, field));
    }
    Some(found)
}

/// Writes one frame: length, checksum of the length, data, checksum of the data.
pub(super) fn write_record(out: &mut dyn Write, data: &[u8]) -> io::Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&masked_crc(&length).to_le_bytes())?;
    out.write_all(data)?;
    out.write_all(&masked_crc(data).to_le_bytes())
}

/// Reads one frame. `None` at the end, and at the first frame that is damaged or cut off: nothing behind it can be found.
pub(super) fn read_record(from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = read_checked(from, 8)? else { return Ok(None) };
    let length = length.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    read_checked(from, length)
}

/// Reads `length` bytes and the checksum behind them.
fn read_checked(from: &mut dyn Read, length: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(length.saturating_add(4)).read_to_end(&mut bytes)?;
    let Some(data_length) = bytes.len().checked_sub(4).filter(|found| *found as u64 == length) else { return Ok(None) };
    let checksum = bytes.split_off(data_length);
    Ok((checksum == masked_crc(&bytes).to_le_bytes()).then_some(bytes))
}

/// TFRecord stores checksums rotated and shifted, because checksums of data that holds checksums are weak.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn put_key(out: &mut Vec<u8>, field: u64, kind: u64) {
    put_varint(out, field << 3 | kind);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_double(out: &mut Vec<u8>, field: u64, value: f64) {
    put_key(out, field, FIXED64);
    out.extend(value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_key(out, field, BYTES);
    put_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take_chunk<'a, const N: usize>(from: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (chunk, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(chunk)
}
