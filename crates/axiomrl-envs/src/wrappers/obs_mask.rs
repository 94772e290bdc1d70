//! Hides part of the observation, which turns a task into one that needs memory.

use crate::{BoxSpace, DType, Env, EnvError, ObsBuf, ObsMut, ObsSpace, Rng, Space, Step};

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
            Space::Box(b) if b.shape.len() == 1 && b.dtype == DType::F32 && keep.iter().all(|&i| i < b.dim()) => b,
            other => {
                let problem = format!("elements {keep:?} cannot be picked from a {} observation", other.kind());
                return Err(EnvError::BadOption { env: "ObsMask".into(), problem });
            }
        };
        let pick = |bounds: &[f32]| keep.iter().map(|&i| bounds[i]).collect::<Vec<_>>();
        let space = Space::Box(BoxSpace::vector(&pick(&inner.low), &pick(&inner.high)));
        let whole = ObsBuf::zeros(ObsSpace::of(env.observation_space()).widths, 1);
        Ok(Self { env, space, keep: keep.to_vec(), whole, shown: vec![0.0; keep.len()] })
    }

    fn refresh(&mut self) {
        self.env.observe(self.whole.as_mut());
        for (shown, &i) in self.shown.iter_mut().zip(&self.keep) {
            *shown = self.whole.floats[i];
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

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.env.reset(rng)?;
        self.refresh();
        Ok(())
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let step = self.env.step(action, rng)?;
        self.refresh();
        Ok(step)
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&self.shown);
    }

    fn inner(&self) -> Option<&dyn Env> {
        Some(&self.env)
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        self.env.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.env.restore(snapshot)?;
        self.refresh();
        Ok(())
    }
}
