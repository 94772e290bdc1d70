//! The head of an array: what its numbers are and how they are arranged.

use crate::element::Element;
use std::io::{self, Read, Write};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Far more than any head needs: numpy itself stops at a tenth of it.
const LONGEST: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub element: Element,
    pub shape: Vec<usize>,
}

impl Header {
    /// Numbers altogether, if that is a number.
    pub fn len(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n))
    }
}

/// Reads a head and leaves the reader at the first number. A problem completes a sentence that begins with the array's name.
pub(super) fn read(from: &mut dyn Read) -> Result<Header, String> {
    let foreign = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "is cut short".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let mut start = [0; 8];
    from.read_exact(&mut start).map_err(foreign)?;
    if &start[..6] != MAGIC {
        return Err("is no array of numpy".into());
    }
    let length = match start[6] {
        1 => {
            let mut length = [0; 2];
            from.read_exact(&mut length).map_err(foreign)?;
            usize::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0; 4];
            from.read_exact(&mut length).map_err(foreign)?;
            u32::from_le_bytes(length) as usize
        }
        version => return Err(format!("is of version {version} of numpy's format, which is unknown")),
    };
    if length > LONGEST {
        return Err("has a head too long to be true".into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).map_err(foreign)?;
    parse(&String::from_utf8_lossy(&text))
}

/// Something like `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(text: &str) -> Result<Header, String> {
    let damaged = |key: &str| format!("has a damaged head: no `{key}` in {text:?}");
    let element = element(field(text, "descr").ok_or_else(|| damaged("descr"))?)?;
    let shape = field(text, "shape").and_then(shape).ok_or_else(|| damaged("shape"))?;
    let fortran = match field(text, "fortran_order") {
        Some(value) if value.starts_with("True") => true,
        Some(value) if value.starts_with("False") => false,
        _ => return Err(damaged("fortran_order")),
    };
    // With one axis of any length the two orders are the same.
    if fortran && shape.iter().filter(|&&n| n > 1).count() > 1 {
        return Err("lies column by column (Fortran's order); save `numpy.ascontiguousarray` of it".into());
    }
    Ok(Header { element, shape })
}

/// What comes after a key.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let quoted = ['\'', '"'].map(|quote| format!("{quote}{key}{quote}"));
    let after = quoted.iter().find_map(|key| text.split_once(key.as_str()))?.1;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

fn shape(value: &str) -> Option<Vec<usize>> {
    let (inner, _) = value.strip_prefix('(')?.split_once(')')?;
    let numbers = inner.split(',').map(str::trim).filter(|number| !number.is_empty());
    // Python 2 wrote `3L`.
    numbers.map(|number| number.trim_end_matches('L').parse().ok()).collect()
}

fn element(value: &str) -> Result<Element, String> {
    let quote = value.chars().next().unwrap_or(' ');
    let name = match quote {
        '\'' | '"' => value[1..].split(quote).next().unwrap_or_default(),
        _ => return Err("is a table of named columns; save each column under a key of its own".into()),
    };
    let kind = name.trim_start_matches(['<', '>', '|', '=']);
    let element = match kind {
        "f4" => Element::F32,
        "f8" => Element::F64,
        "i1" => Element::I8,
        "i2" => Element::I16,
        "i4" => Element::I32,
        "i8" => Element::I64,
        "u1" => Element::U8,
        "u2" => Element::U16,
        "u4" => Element::U32,
        "u8" => Element::U64,
        "b1" => Element::Bool,
        _ if kind.starts_with('O') => {
            return Err("holds Python objects, which only running a pickle could read; save arrays of numbers".into());
        }
        _ => return Err(format!("has numbers of type {name}; save it as float32")),
    };
    if name.starts_with('>') && element.size() > 1 {
        return Err(format!("has big-endian numbers ({name}); save `array.astype(array.dtype.newbyteorder('<'))`"));
    }
    Ok(element)
}

/// Writes the head of an array, which its numbers must follow.
pub(super) fn write(to: &mut dyn Write, header: &Header) -> io::Result<()> {
    let kind = match header.element {
        Element::F32 => "<f4",
        Element::F64 => "<f8",
        Element::I8 => "|i1",
        Element::I16 => "<i2",
        Element::I32 => "<i4",
        Element::I64 => "<i8",
        Element::U8 => "|u1",
        Element::U16 => "<u2",
        Element::U32 => "<u4",
        Element::U64 => "<u8",
        Element::Bool => "|b1",
    };
    let shape: String = header.shape.iter().map(|n| format!("{n}, ")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    // Numbers begin at a multiple of 64, after a line's end.
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&(text.len() as u16).to_le_bytes())?;
    to.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(descr: &str, fortran: &str, shape: &str) -> Result<Header, String> {
        parse(&format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}    \n"))
    }

    #[test]
    fn heads_are_read_as_numpy_writes_them() {
        let read = |descr, shape| parsed(descr, "False", shape).map(|header| (header.element, header.shape));
        assert_eq!(read("'<f4'", "(3, 4)"), Ok((Element::F32, vec![3, 4])));
        assert_eq!(read("'<f8'", "(3,)"), Ok((Element::F64, vec![3])));
        assert_eq!(read("'|b1'", "()"), Ok((Element::Bool, vec![])));
        assert_eq!(read("\"<i8\"", "(3L, 1L)"), Ok((Element::I64, vec![3, 1])));
        assert_eq!(read("'|u1'", "(0, 84, 84)"), Ok((Element::U8, vec![0, 84, 84])));
        // A single axis has no order.
        assert_eq!(parsed("'<f4'", "True", "(3, 1)").unwrap().shape, [3, 1]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (descr, fortran, shape, words) in [
            ("'|O'", "False", "(3,)", "Python objects"),
            ("'>f4'", "False", "(3,)", "big-endian numbers (>f4)"),
            ("'<f2'", "False", "(3,)", "type <f2; save it as float32"),
            ("'<U5'", "False", "(3,)", "type <U5"),
            ("[('a', '<f4')]", "False", "(3,)", "named columns"),
            ("'<f4'", "True", "(3, 4)", "Fortran"),
            ("'<f4'", "Maybe", "(3, 4)", "no `fortran_order`"),
            ("'<f4'", "False", "(3, -4)", "no `shape`"),
            ("'<f4'", "False", "3", "no `shape`"),
        ] {
            let error = parsed(descr, fortran, shape).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(parse("{}").unwrap_err().contains("no `descr`"));
        assert_eq!(Header { element: Element::F32, shape: vec![usize::MAX, 2] }.len(), None);
        for bytes in [&b"\x93NUMPY"[..], b"", b"\x93NUMPY\x01\x00\xff\xff{"] {
            assert_eq!(read(&mut &bytes[..]).unwrap_err(), "is cut short");
        }
        assert!(read(&mut &b"PKsomething"[..]).unwrap_err().contains("no array of numpy"));
        assert!(read(&mut &b"\x93NUMPY\x09\x00..."[..]).unwrap_err().contains("version 9"));
        assert!(read(&mut &b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..]).unwrap_err().contains("too long"));
    }

    #[test]
    fn what_is_written_is_read_again_and_aligned() {
        for shape in [vec![], vec![7], vec![1_000_000, 17], vec![3, 64, 64, 3]] {
            let header = Header { element: Element::F32, shape };
            let mut bytes = Vec::new();
            write(&mut bytes, &header).unwrap();
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(read(&mut bytes.as_slice()).unwrap(), header);
        }
    }
}
