//! Recycled `f32` buffers, one pool per thread.
//!
//! An update needs the same buffer sizes again and again; taking them from a pool avoids the allocator, its page faults and
//! zero-filling. A buffer's contents are whatever its last user left: every user overwrites before reading.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// So many buffers are kept whatever their size, and so many in all while they are small together: a world model has hundreds of
/// small ones. The oldest are given back to the allocator.
const KEPT: usize = 48;
const KEPT_SMALL: usize = 512;
/// What counts as small together: 64 MB.
const SMALL_VALUES: usize = 1 << 24;

struct Pool {
    buffers: Vec<Vec<f32>>,
    /// Of all buffers.
    values: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { buffers: Vec::new(), values: 0 }) };
}

/// A buffer of exactly `len` values with arbitrary (but initialised) contents, from this thread's pool. The gradients that a
/// [`fused_loss`](crate::fused_loss) returns go back to the pool once they were used, so a large one is best taken from it.
pub fn take(len: usize) -> Vec<f32> {
    // Only exact matches: training repeats its sizes, and cutting a longer buffer down would cost a refill later.
    let recycled = POOL.with_borrow_mut(|pool| {
        let found = pool.buffers.iter().rposition(|b| b.len() == len)?;
        pool.values -= len;
        Some(pool.buffers.swap_remove(found))
    });
    recycled.unwrap_or_else(|| vec![0.0; len])
}

/// Gives a buffer back to this thread's pool.
pub fn give(buffer: Vec<f32>) {
    if buffer.is_empty() {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        pool.values += buffer.len();
        pool.buffers.push(buffer);
        while pool.buffers.len() > KEPT && (pool.buffers.len() > KEPT_SMALL || pool.values > SMALL_VALUES) {
            pool.values -= pool.buffers.remove(0).len();
        }
    });
}

/// Gives a buffer this length, with arbitrary contents. Who looks at one row and at a thousand by turns has both sizes in the
/// pool, where growing would fill it with zeros each time.
pub fn resize(buffer: &mut Vec<f32>, len: usize) {
    if buffer.len() != len {
        give(std::mem::replace(buffer, take(len)));
    }
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

/// Some rows of a batch, contiguous: the caller's slice when they are all of it.
pub enum Gathered<'a> {
    Borrowed(&'a [f32]),
    Copied(Pooled),
}

impl Deref for Gathered<'_> {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        match self {
            Gathered::Borrowed(values) => values,
            Gathered::Copied(values) => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_buffers_are_kept_and_few_large_ones() {
        let count = |len: usize| POOL.with_borrow(|pool| pool.buffers.iter().filter(|b| b.len() == len).count());
        (0..600).for_each(|_| give(vec![0.0; 11]));
        assert_eq!(count(11), KEPT_SMALL);
        let large = SMALL_VALUES / 50;
        (0..60).for_each(|_| give(vec![0.0; large]));
        assert_eq!((count(11), count(large)), (0, 50), "what is small together stays");
        let larger = SMALL_VALUES / 4;
        (0..50).for_each(|_| give(vec![0.0; larger]));
        assert_eq!(count(larger), KEPT);
        POOL.with_borrow(|pool| assert_eq!(pool.values, pool.buffers.iter().map(Vec::len).sum::<usize>()));
    }

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
