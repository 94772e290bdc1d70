//! Hides part of the observation, which turns a task into one that needs memory.

use crate::{BoxSpace, Env, EnvError, Frame, ObsBuf, ObsMut, ObsRef, Rng, Space, Step};
use serde_json::Value;

/// Shows only the elements `keep` of a vector observation, in that order.
pub struct ObsMask<E> {
    env: E,
    space: Space,
    keep: Vec<usize>,
    /// The whole observation and the part shown, refreshed whenever the world moves: `observe` may not change anything.
    whole: ObsBuf,
    shown: Vec<f32>,
}

impl<E: Env> ObsMask<E> {
    /// Fails unless the observation is a vector of floats that has all the elements kept.
    pub fn new(env: E, keep: &[usize]) -> Result<Self, EnvError> {
        let inner = match env.observation_space() {
            Space::Box(b) if b.shape.len() == 1 && keep.iter().all(|&i| i < b.dim()) => b,
            other => {
                let problem = format!("elements {keep:?} cannot be picked from a {} observation", other.kind());
                return Err(EnvError::BadOption { env: "ObsMask".into(), problem });
            }
        };
        let pick = |bounds: &[f32]| keep.iter().map(|&i| bounds[i]).collect::<Vec<_>>();
        let space = Space::Box(BoxSpace::vector(&pick(&inner.low), &pick(&inner.high)));
        let whole = ObsBuf::zeros(inner.dtype, inner.dim());
        Ok(Self { env, space, keep: keep.to_vec(), whole, shown: vec![0.0; keep.len()] })
    }

    fn refresh(&mut self) {
        self.env.observe(self.whole.as_mut());
        for (shown, &i) in self.shown.iter_mut().zip(&self.keep) {
            *shown = match &self.whole {
                ObsBuf::F32(v) => v[i],
                ObsBuf::U8(v) => f32::from(v[i]),
            };
        }
    }
}

impl<E: Env> Env for ObsMask<E> {
    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.env.reset(rng);
        self.refresh();
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Step {
        let step = self.env.step(action, rng);
        self.refresh();
        step
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.copy_from(ObsRef::F32(&self.shown));
    }

    fn action_mask(&self, out: &mut [bool]) {
        self.env.action_mask(out);
    }

    fn has_action_mask(&self) -> bool {
        self.env.has_action_mask()
    }

    fn snapshot(&self) -> Value {
        self.env.snapshot()
    }

    fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError> {
        self.env.restore(snapshot)?;
        self.refresh();
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        self.env.render()
    }
}
