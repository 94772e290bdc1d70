//! Arrays of a flat file, read from front to back.

use crate::DataError;
use crate::element::Element;
use std::path::Path;

/// A file of named arrays.
pub(crate) trait Table {
    fn path(&self) -> &Path;

    /// The names of its arrays, in the file's order.
    fn keys(&self) -> &[String];

    /// An array, about to be read from its first row.
    fn column(&self, key: &str) -> Result<Box<dyn Rows>, DataError>;

    fn has(&self, key: &str) -> bool {
        self.keys().iter().any(|known| known == key)
    }

    /// A key that must be there.
    fn require(&self, key: &str) -> Result<Box<dyn Rows>, DataError> {
        if self.has(key) {
            return self.column(key);
        }
        let mut keys: Vec<String> = self.keys().iter().take(20).map(|key| format!("`{key}`")).collect();
        if self.keys().len() > keys.len() {
            keys.push("…".into());
        }
        let found = if keys.is_empty() { "nothing".into() } else { keys.join(", ") };
        Err(DataError::key(self.path(), key, format!("is missing; the file has {found}")))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ColumnInfo {
    pub key: String,
    /// Rows, and the shape of one.
    pub rows: usize,
    pub shape: Vec<usize>,
    pub element: Element,
}

impl ColumnInfo {
    /// Numbers of a row.
    pub fn width(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether a row has this shape; one number is one number, however many axes it has.
    pub fn has_rows_of(&self, shape: &[usize]) -> bool {
        self.shape == shape || (self.width() == 1 && shape.iter().product::<usize>() == 1)
    }
}

/// Rows of an array, one stretch after the other.
pub(crate) trait Rows {
    fn info(&self) -> &ColumnInfo;

    /// Appends the next rows as numbers.
    fn floats(&mut self, rows: usize, to: &mut Vec<f32>) -> Result<(), DataError>;

    /// Appends the next rows of an array of bytes.
    fn bytes(&mut self, rows: usize, to: &mut Vec<u8>) -> Result<(), DataError>;
}
