//! A native environment on its own, for Gymnasium.

use crate::errors::Raised;
use crate::policy::as_json;
use axiomrl_envs::{Env, ObsBuf, Rng, Spaces, registry, rng::stream};
use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArrayMethods, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[pyclass(frozen)]
pub struct NativeEnv {
    spaces: Spaces,
    inner: Mutex<Inner>,
}

struct Inner {
    env: Box<dyn Env>,
    rng: Rng,
}

/// Numbers and bytes of an observation, which choices are allowed, and the info columns.
type Shown<'py> =
    (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl NativeEnv {
    #[new]
    fn new(name: &str, options: &str) -> PyResult<Self> {
        let options = serde_json::from_str(options).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let env = registry::make(name, &options).map_err(|error| error.raised())?;
        Ok(Self { spaces: Spaces::of(&env), inner: Mutex::new(Inner { env, rng: stream(0, "env/0") }) })
    }

    /// As JSON.
    fn layout(&self) -> PyResult<String> {
        as_json(&serde_json::json!({ "spaces": self.spaces, "observation": self.spaces.obs() }))
    }

    /// Everything random follows from it.
    fn seed(&self, seed: u64) {
        self.lock().rng = stream(seed, "env/0");
    }

    fn reset<'py>(&self, py: Python<'py>) -> PyResult<Shown<'py>> {
        let mut inner = self.lock();
        let Inner { env, rng } = &mut *inner;
        env.reset(rng).map_err(|error| error.raised())?;
        Ok(self.shown(py, &inner))
    }

    /// What is shown now, the reward, and whether the episode is terminated or truncated.
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: PyReadonlyArray1<'py, f32>,
    ) -> PyResult<(Shown<'py>, f64, bool, bool)> {
        let width = self.spaces.action.width();
        if action.len() != width {
            return Err(PyValueError::new_err(format!("{} numbers where an action has {width}", action.len())));
        }
        let mut inner = self.lock();
        let Inner { env, rng } = &mut *inner;
        let step = env.step(action.as_slice()?, rng).map_err(|error| error.raised())?;
        Ok((self.shown(py, &inner), step.reward, step.terminated, step.truncated && !step.terminated))
    }

    /// Height, width and RGB bytes, where there is a picture.
    fn render<'py>(&self, py: Python<'py>) -> Option<(usize, usize, Bound<'py, PyArray1<u8>>)> {
        self.lock().env.render().map(|frame| (frame.height, frame.width, frame.rgb.to_pyarray(py)))
    }
}

impl NativeEnv {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here waits for Python.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown<'py>(&self, py: Python<'py>, Inner { env, .. }: &Inner) -> Shown<'py> {
        let mut obs = ObsBuf::zeros(self.spaces.obs().widths, 1);
        env.observe(obs.as_mut());
        let mut mask = vec![true; self.spaces.masks];
        env.action_mask(&mut mask);
        let mut info = vec![0.0; self.spaces.info.len()];
        env.info(&mut info);
        (obs.floats.to_pyarray(py), obs.bytes.to_pyarray(py), mask.to_pyarray(py), info.to_pyarray(py))
    }
}
