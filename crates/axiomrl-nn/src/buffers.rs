//! Recycled `f32` buffers, one pool per thread.
//!
//! An update needs the same buffer sizes again and again; taking them from a pool avoids the allocator, its page faults and
//! zero-filling. A buffer's contents are whatever its last user left: every user overwrites before reading.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// More buffers than this are given back to the allocator.
const KEPT: usize = 48;

thread_local! {
    static POOL: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer of exactly `len` values with arbitrary (but initialised) contents, from this thread's pool. The gradients that a
/// [`fused_loss`](crate::fused_loss) returns go back to the pool once they were used, so a large one is best taken from it.
pub fn take(len: usize) -> Vec<f32> {
    // Only exact matches: training repeats its sizes, and cutting a longer buffer down would cost a refill later.
    let recycled = POOL.with_borrow_mut(|pool| {
        let found = pool.iter().rposition(|b| b.len() == len)?;
        Some(pool.swap_remove(found))
    });
    recycled.unwrap_or_else(|| vec![0.0; len])
}

/// Gives a buffer back to this thread's pool.
pub fn give(buffer: Vec<f32>) {
    if buffer.is_empty() {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        if pool.len() >= KEPT {
            pool.remove(0);
        }
        pool.push(buffer);
    });
}

/// A buffer that returns to the pool when dropped.
#[derive(Debug)]
pub struct Pooled(Vec<f32>);

impl Pooled {
    pub fn new(len: usize) -> Self {
        Self(take(len))
    }
}

impl Deref for Pooled {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_recycled_at_the_asked_length() {
        let mut first = take(1000);
        first.fill(7.0);
        let address = first.as_ptr();
        give(first);
        let second = take(1000);
        assert_eq!(second.as_ptr(), address);
        give(second);
        assert_eq!(take(10).len(), 10);
        assert_eq!(take(1000)[0], 7.0, "the longer buffer was left alone");
    }
}
