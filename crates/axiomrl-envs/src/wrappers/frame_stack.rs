//! Shows the last few observations at once.

use crate::{BoxSpace, Env, EnvError, Frame, ObsBuf, ObsMut, Rng, Space, Step, snapshot};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Stacks the last `count` observations, oldest first: along the last axis, so images gain channels and vectors are
/// concatenated. At the start of an episode all of them are the first observation.
pub struct FrameStack<E> {
    env: E,
    space: Space,
    count: usize,
    /// Numbers that stay together: one pixel's channels, or a whole vector.
    chunk: usize,
    frames: Frames,
}

/// A ring of whole observations.
#[derive(Clone, Serialize, Deserialize)]
struct Frames {
    ring: ObsBuf,
    oldest: usize,
}

#[derive(Deserialize)]
struct Saved {
    frames: Frames,
    env: Value,
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
        let space =
            Space::Box(BoxSpace { shape, low: stack(&inner.low), high: stack(&inner.high), dtype: inner.dtype });
        let frames = Frames { ring: ObsBuf::zeros(inner.dtype, inner.dim() * count), oldest: 0 };
        Ok(Self { env, space, count, chunk, frames })
    }

    fn frame_len(&self) -> usize {
        self.frames.ring.len() / self.count
    }

    /// Overwrites the oldest frame with the current observation.
    fn push(&mut self) {
        let width = self.frame_len();
        self.env.observe(self.frames.ring.row_mut(self.frames.oldest, width));
        self.frames.oldest = if self.frames.oldest + 1 == self.count { 0 } else { self.frames.oldest + 1 };
    }

    fn interleave<T: Copy>(&self, ring: &[T], out: &mut [T]) {
        let width = self.frame_len();
        if self.chunk == width {
            // Vectors need no interleaving: the ring, unrolled at its oldest frame, is the stack.
            let (newer, older) = ring.split_at(self.frames.oldest * width);
            out[..older.len()].copy_from_slice(older);
            out[older.len()..].copy_from_slice(newer);
            return;
        }
        for age in 0..self.count {
            let frame = &ring[(self.frames.oldest + age) % self.count * width..][..width];
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

    fn reset(&mut self, rng: &mut Rng) {
        self.env.reset(rng);
        for _ in 0..self.count {
            self.push();
        }
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Step {
        let step = self.env.step(action, rng);
        self.push();
        step
    }

    fn observe(&self, out: ObsMut<'_>) {
        match (&self.frames.ring, out) {
            (ObsBuf::F32(ring), ObsMut::F32(out)) => self.interleave(ring, out),
            (ObsBuf::U8(ring), ObsMut::U8(out)) => self.interleave(ring, out),
            _ => unreachable!("the buffer's number type is that of the observation space"),
        }
    }

    fn action_mask(&self, out: &mut [bool]) {
        self.env.action_mask(out);
    }

    fn has_action_mask(&self) -> bool {
        self.env.has_action_mask()
    }

    fn snapshot(&self) -> Value {
        json!({ "frames": snapshot::to_value(&self.frames), "env": self.env.snapshot() })
    }

    fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError> {
        let Saved { frames, env } = snapshot::parse("FrameStack", snapshot)?;
        snapshot::check_len("FrameStack", "numbers", frames.ring.len(), self.frames.ring.len())?;
        snapshot::check_dtype("FrameStack", frames.ring.dtype(), self.frames.ring.dtype())?;
        self.env.restore(&env)?;
        self.frames = Frames { oldest: frames.oldest % self.count, ..frames };
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        self.env.render()
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
        fn reset(&mut self, _: &mut Rng) {
            self.time = 0;
        }
        fn step(&mut self, _: &[f32], _: &mut Rng) -> Step {
            self.time += 1;
            Step::default()
        }
        fn observe(&self, out: ObsMut<'_>) {
            let ObsMut::U8(out) = out else { panic!("an image is bytes") };
            for (i, byte) in out.iter_mut().enumerate() {
                *byte = 10 * self.time + i as u8;
            }
        }
        fn snapshot(&self) -> Value {
            self.time.into()
        }
        fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError> {
            self.time = snapshot::parse("Film", snapshot)?;
            Ok(())
        }
    }

    #[test]
    fn images_gain_channels_pixel_by_pixel() {
        let film = Film { space: Space::Box(BoxSpace::image(2, 1, 2)), action: Space::Discrete { n: 1 }, time: 0 };
        let mut env = FrameStack::new(film, 3).unwrap();
        assert_eq!(env.observation_space().image_shape(), Some([2, 1, 6]));
        let mut rng = stream(0, "film");
        let mut out = [0; 12];
        env.reset(&mut rng);
        env.observe(ObsMut::U8(&mut out));
        assert_eq!(out, [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]);
        for _ in 0..4 {
            env.step(&[0.0], &mut rng);
        }
        env.observe(ObsMut::U8(&mut out));
        assert_eq!(out, [20, 21, 30, 31, 40, 41, 22, 23, 32, 33, 42, 43]);
    }
}
