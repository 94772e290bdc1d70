//! Shows the last few observations at once.

use crate::snapshot::{Reader, Writer};
use crate::{BoxSpace, Env, EnvError, ObsBuf, ObsMut, ObsSpace, Rng, Space, Step};

/// Stacks the last `count` observations, oldest first: along the last axis, so images gain channels and vectors are
/// concatenated. At the start of an episode all of them are the first observation.
pub struct FrameStack<E> {
    env: E,
    space: Space,
    count: usize,
    /// Numbers that stay together: one pixel's channels, or a whole vector.
    chunk: usize,
    /// A ring of whole observations.
    ring: ObsBuf,
    oldest: usize,
}

impl<E: Env> FrameStack<E> {
    /// Fails when the observation is not a Box or `count` is 0.
    pub fn new(env: E, count: usize) -> Result<Self, EnvError> {
        let bad = |problem: String| EnvError::BadOption { env: "FrameStack".into(), problem };
        let Space::Box(inner) = env.observation_space() else {
            let kind = env.observation_space().kind();
            return Err(bad(format!(
                "only Box observations can be stacked and this one is {kind}; set frame_stack to 1"
            )));
        };
        let Some(&chunk) = inner.shape.last().filter(|_| count > 0) else {
            return Err(bad("frame_stack must be at least 1, over observations with at least one axis".into()));
        };
        let mut shape = inner.shape.clone();
        shape[inner.shape.len() - 1] = chunk * count;
        // Each chunk's bounds are repeated once for every frame, as `observe` repeats its values.
        let stack = |bounds: &[f32]| bounds.chunks(chunk).flat_map(|c| c.repeat(count)).collect();
        let space = Space::Box(BoxSpace {
            shape,
            low: stack(&inner.low),
            high: stack(&inner.high),
            dtype: inner.dtype,
            frames: count,
        });
        let ring = ObsBuf::zeros(ObsSpace::of(env.observation_space()).widths, count);
        Ok(Self { env, space, count, chunk, ring, oldest: 0 })
    }

    /// Overwrites the oldest frame with the current observation.
    fn push(&mut self) {
        self.env.observe(self.ring.row_mut(self.oldest));
        self.oldest = if self.oldest + 1 == self.count { 0 } else { self.oldest + 1 };
    }

    fn interleave<T: Copy>(&self, ring: &[T], out: &mut [T]) {
        let width = ring.len() / self.count;
        if self.chunk == width {
            // Vectors need no interleaving: the ring, unrolled at its oldest frame, is the stack.
            let (newer, older) = ring.split_at(self.oldest * width);
            out[..older.len()].copy_from_slice(older);
            out[older.len()..].copy_from_slice(newer);
            return;
        }
        for age in 0..self.count {
            let frame = &ring[(self.oldest + age) % self.count * width..][..width];
            for (from, to) in frame.chunks_exact(self.chunk).zip(out.chunks_exact_mut(self.chunk * self.count)) {
                to[age * self.chunk..][..self.chunk].copy_from_slice(from);
            }
        }
    }
}

impl<E: Env> Env for FrameStack<E> {
    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.env.reset(rng)?;
        for _ in 0..self.count {
            self.push();
        }
        Ok(())
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let step = self.env.step(action, rng)?;
        self.push();
        Ok(step)
    }

    fn observe(&self, out: ObsMut<'_>) {
        // A Box is one part, so one of the blocks is empty.
        self.interleave(&self.ring.floats, out.floats);
        self.interleave(&self.ring.bytes, out.bytes);
    }

    fn inner(&self) -> Option<&dyn Env> {
        Some(&self.env)
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        let mut to = Writer::default();
        to.whole(self.oldest as u64).obs(self.ring.as_ref()).bytes(&self.env.snapshot()?);
        Some(to.finish())
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let mut from = Reader::new("FrameStack", snapshot);
        let oldest = (from.whole()? % self.count as u64) as usize;
        let mut ring = self.ring.clone();
        from.obs(ring.as_mut())?;
        self.env.restore(from.blob()?)?;
        (self.ring, self.oldest) = (ring, oldest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// A 2×1 image with two channels whose bytes count the steps.
    struct Film {
        space: Space,
        action: Space,
        time: u8,
    }

    impl Env for Film {
        fn observation_space(&self) -> &Space {
            &self.space
        }
        fn action_space(&self) -> &Space {
            &self.action
        }
        fn reset(&mut self, _: &mut Rng) -> Result<(), EnvError> {
            self.time = 0;
            Ok(())
        }
        fn step(&mut self, _: &[f32], _: &mut Rng) -> Result<Step, EnvError> {
            self.time += 1;
            Ok(Step::default())
        }
        fn observe(&self, out: ObsMut<'_>) {
            for (i, byte) in out.bytes.iter_mut().enumerate() {
                *byte = 10 * self.time + i as u8;
            }
        }
    }

    #[test]
    fn images_gain_channels_pixel_by_pixel() {
        let film = Film { space: Space::Box(BoxSpace::image(2, 1, 2)), action: Space::Discrete { n: 1 }, time: 0 };
        let mut env = FrameStack::new(film, 3).unwrap();
        assert_eq!(env.observation_space().image_shape(), Some([2, 1, 6]));
        let mut rng = stream(0, "film");
        let mut out = [0; 12];
        env.reset(&mut rng).unwrap();
        env.observe(ObsMut::of_bytes(&mut out));
        assert_eq!(out, [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]);
        for _ in 0..4 {
            env.step(&[0.0], &mut rng).unwrap();
        }
        env.observe(ObsMut::of_bytes(&mut out));
        assert_eq!(out, [20, 21, 30, 31, 40, 41, 22, 23, 32, 33, 42, 43]);
    }
}
