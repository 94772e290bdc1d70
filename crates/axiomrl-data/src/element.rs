//! The kinds of numbers that files hold.

/// How one number lies in a file, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
}

impl Element {
    /// Bytes of one number.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    pub fn is_whole(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// numpy's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::Bool => "bool",
        }
    }

    /// Appends whole numbers of `from` as `f32`; bytes that make up no whole one are left out.
    pub fn decode(self, from: &[u8], to: &mut Vec<f32>) {
        fn each<const N: usize>(from: &[u8], to: &mut Vec<f32>, read: impl Fn([u8; N]) -> f32) {
            to.extend(from.as_chunks::<N>().0.iter().map(|bytes| read(*bytes)));
        }
        match self {
            Self::F32 => each(from, to, f32::from_le_bytes),
            Self::F64 => each(from, to, |bytes| f64::from_le_bytes(bytes) as f32),
            Self::I8 => each(from, to, |bytes| f32::from(i8::from_le_bytes(bytes))),
            Self::I16 => each(from, to, |bytes| f32::from(i16::from_le_bytes(bytes))),
            Self::I32 => each(from, to, |bytes| i32::from_le_bytes(bytes) as f32),
            Self::I64 => each(from, to, |bytes| i64::from_le_bytes(bytes) as f32),
            Self::U8 | Self::Bool => each(from, to, |[byte]| f32::from(byte)),
            Self::U16 => each(from, to, |bytes| f32::from(u16::from_le_bytes(bytes))),
            Self::U32 => each(from, to, |bytes| u32::from_le_bytes(bytes) as f32),
            Self::U64 => each(from, to, |bytes| u64::from_le_bytes(bytes) as f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number_is_read() {
        let read = |element: Element, bytes: &[u8]| {
            let mut numbers = vec![9.0];
            element.decode(bytes, &mut numbers);
            assert_eq!(bytes.len() % element.size(), 0);
            numbers
        };
        assert_eq!(read(Element::F32, &[1.5f32, -2.0].map(f32::to_le_bytes).concat()), [9.0, 1.5, -2.0]);
        assert_eq!(read(Element::F64, &[0.1f64, -2.0].map(f64::to_le_bytes).concat()), [9.0, 0.1, -2.0]);
        assert_eq!(read(Element::I8, &[255, 1]), [9.0, -1.0, 1.0]);
        assert_eq!(read(Element::U8, &[255, 1]), [9.0, 255.0, 1.0]);
        assert_eq!(read(Element::Bool, &[0, 1]), [9.0, 0.0, 1.0]);
        assert_eq!(read(Element::I16, &(-300i16).to_le_bytes()), [9.0, -300.0]);
        assert_eq!(read(Element::U16, &60_000u16.to_le_bytes()), [9.0, 60_000.0]);
        assert_eq!(read(Element::I32, &(-70_000i32).to_le_bytes()), [9.0, -70_000.0]);
        assert_eq!(read(Element::U32, &70_000u32.to_le_bytes()), [9.0, 70_000.0]);
        assert_eq!(read(Element::I64, &(-5i64).to_le_bytes()), [9.0, -5.0]);
        assert_eq!(read(Element::U64, &5u64.to_le_bytes()), [9.0, 5.0]);
    }
}
