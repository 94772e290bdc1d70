//! Large stores in files, page by page.

use std::io::{self, Read, Write};

/// A store that is saved as a small head and pages of about a megabyte.
///
/// What belongs to a page follows from its name alone, not from when it is written. So a page that is final has the same
/// bytes whenever it is written, and a checkpoint can take it over from the one before.
pub trait PagedStore {
    /// What changes all the time: how far the store has come.
    fn head(&self) -> Vec<u8>;

    /// The pages there are, in ascending order.
    fn pages(&self) -> Vec<u64>;

    /// Whether the bytes of this page will never change as long as it exists.
    fn is_final(&self, page: u64) -> bool;

    fn write_page(&self, page: u64, to: &mut dyn Write) -> io::Result<()>;

    /// Takes over what was written for a store of the same spec. `open` gives the bytes of a page. After an error the store
    /// is as before.
    fn read(&mut self, head: &[u8], open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>) -> io::Result<()>;
}
