//! One small array as the bytes of an `.npy` file, for those who keep tables of numbers in memory.

use super::header::{self, Header};
use crate::element::Element;
use std::io;

/// A kind of number that a table is made of.
pub trait Number: Copy {
    #[doc(hidden)]
    const ELEMENT: NumberKind;

    #[doc(hidden)]
    fn to_bytes(self) -> [u8; 8];

    #[doc(hidden)]
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum NumberKind {
    F64,
    I64,
}

impl NumberKind {
    fn element(self) -> Element {
        match self {
            Self::F64 => Element::F64,
            Self::I64 => Element::I64,
        }
    }
}

impl Number for f64 {
    const ELEMENT: NumberKind = NumberKind::F64;

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

impl Number for i64 {
    const ELEMENT: NumberKind = NumberKind::I64;

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

/// The file of an array of this shape.
pub fn array<T: Number>(shape: &[usize], values: impl Iterator<Item = T>) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    header::write(&mut file, &Header { element: T::ELEMENT.element(), shape: shape.to_vec() })?;
    file.extend(values.flat_map(T::to_bytes));
    Ok(file)
}

/// Shape and numbers of such a file. Numbers of another kind, more or fewer of them than the shape says, are refused.
pub fn read<T: Number>(mut file: &[u8]) -> io::Result<(Vec<usize>, Vec<T>)> {
    let damaged = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
    let header = header::read(&mut file).map_err(|problem| damaged(format!("an array {problem}")))?;
    let (numbers, rest) = file.as_chunks::<8>();
    if header.element != T::ELEMENT.element() || !rest.is_empty() || header.len() != Some(numbers.len()) {
        return Err(damaged("an array is not what its head says".into()));
    }
    Ok((header.shape, numbers.iter().map(|bytes| T::from_bytes(*bytes)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_comes_back_and_another_is_refused() {
        let file = array(&[2, 3], [1.0, f64::NAN, 3.0, -4.5, 0.0, 6.0].into_iter()).unwrap();
        let (shape, numbers) = read::<f64>(&file).unwrap();
        assert_eq!(shape, [2, 3]);
        assert!(numbers[1].is_nan() && numbers[3] == -4.5);
        assert!(read::<i64>(&file).is_err(), "numbers of another kind");
        for cut in 0..file.len() {
            assert!(read::<f64>(&file[..cut]).is_err(), "cut to {cut}");
        }
    }
}
