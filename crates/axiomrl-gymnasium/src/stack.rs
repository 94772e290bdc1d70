//! The last few observations at once, for batches that show one at a time.

use axiomrl_envs::{BoxSpace, EnvError, Space};

/// How observations are stacked: along the last axis, oldest first, as `FrameStack` does it for single environments.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    count: usize,
    /// Numbers that stay together: one pixel's channels, or a whole vector.
    chunk: usize,
}

impl Stack {
    /// The stacked space and the way to fill it.
    pub fn of(env: &str, space: &Space, count: usize) -> Result<(Space, Self), EnvError> {
        let bad =
            |problem: String| EnvError::BadSetting { env: env.to_owned(), key: "frame_stack".to_owned(), problem };
        if count <= 1 {
            return Ok((space.clone(), Self { count: 1, chunk: 1 }));
        }
        let Space::Box(inner) = space else {
            let kind = space.kind();
            return Err(bad(format!(
                "only Box observations can be stacked and this one is {kind}; set frame_stack to 1"
            )));
        };
        let chunk = inner.shape.last().copied().unwrap_or(1).max(1);
        let mut shape = inner.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last *= count;
        }
        let repeat = |bounds: &[f32]| bounds.chunks(chunk).flat_map(|bounds| bounds.repeat(count)).collect();
        let (low, high) = (repeat(&inner.low), repeat(&inner.high));
        Ok((Space::Box(BoxSpace { shape, low, high, dtype: inner.dtype, frames: count }), Self { count, chunk }))
    }

    /// Adds the newest observation to a row.
    pub fn push<T: Copy>(self, newest: &[T], row: &mut [T]) {
        if self.count == 1 {
            return row.copy_from_slice(newest);
        }
        let Self { count, chunk } = self;
        for (newest, stack) in newest.chunks_exact(chunk).zip(row.chunks_exact_mut(chunk * count)) {
            stack.copy_within(chunk.., 0);
            stack[(count - 1) * chunk..].copy_from_slice(newest);
        }
    }

    /// Begins a row anew: at the start of an episode all observations are the first.
    pub fn fill<T: Copy>(self, first: &[T], row: &mut [T]) {
        let chunk = if self.count == 1 { first.len().max(1) } else { self.chunk };
        for (first, stack) in first.chunks_exact(chunk).zip(row.chunks_exact_mut(chunk * self.count)) {
            stack.chunks_exact_mut(chunk).for_each(|place| place.copy_from_slice(first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_keep_their_frames_together_and_vectors_follow_each_other() {
        let image = Space::Box(BoxSpace::image(1, 2, 1));
        let (space, stack) = Stack::of("x", &image, 3).unwrap();
        let Space::Box(stacked) = space else { panic!("a box") };
        assert_eq!((stacked.shape, stacked.frames, stacked.high.len()), (vec![1, 2, 3], 3, 6));
        let mut row = [0u8; 6];
        stack.fill(&[1, 5], &mut row);
        assert_eq!(row, [1, 1, 1, 5, 5, 5]);
        stack.push(&[2, 6], &mut row);
        assert_eq!(row, [1, 1, 2, 5, 5, 6]);
        let (_, stack) = Stack::of("x", &Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), 2).unwrap();
        let mut row = [0.0f32; 4];
        stack.fill(&[1.0, 2.0], &mut row);
        stack.push(&[3.0, 4.0], &mut row);
        assert_eq!(row, [1.0, 2.0, 3.0, 4.0]);
        assert!(Stack::of("x", &Space::Discrete { n: 2 }, 2).unwrap_err().to_string().contains("frame_stack"));
    }
}
