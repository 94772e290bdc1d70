//! Gymnasium's environments in this process: `_bridge.Batch`, asked with the interpreter held.

use crate::errors::{is_to_stop, python_cause};
use crate::quick::Quick;
use axiomrl_envs::{
    EnvError, EnvSource, Frame, GoalParts, Purpose, Rows, Seeding, Spaces, TaskRules, VecEnv, Wrapping,
};
use axiomrl_gymnasium::{Arrays, Bridge, GymVecEnv};
use axiomrl_run::catalogue::{Catalogue, EnvFactory, EnvResolver, Sourced};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use std::ops::Range;
use std::sync::Arc;

/// What comes with the program, everything that Gymnasium knows, and the environments at hand, if they have no name of their own.
pub fn catalogue(at_hand: Option<&Maker>) -> PyResult<Catalogue> {
    let mut catalogue = Catalogue::builtin();
    if let Some(maker) = at_hand {
        let added = catalogue.environment(&maker.name, "An environment of this program", maker.clone()).map(|_| ());
        added.map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    catalogue.resolver(Gymnasium);
    Ok(catalogue)
}

/// Finds ids by asking Python for someone who makes them.
struct Gymnasium;

impl EnvResolver for Gymnasium {
    fn resolve(&self, name: &str) -> Option<Arc<dyn EnvFactory>> {
        Python::attach(|py| {
            let module = py.import("axiomrl._environments").ok()?;
            let found = module.call_method1("of_id", (name,)).ok()?;
            let maker: Maker = (!found.is_none()).then(|| found.extract()).transpose().ok()??;
            Some(Arc::new(maker) as Arc<dyn EnvFactory>)
        })
    }
}

/// Someone in Python who makes batches: `_environments.Maker`.
pub struct Maker {
    name: String,
    object: Py<PyAny>,
}

impl Clone for Maker {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), object: Python::attach(|py| self.object.clone_ref(py)) }
    }
}

impl<'py> FromPyObject<'_, 'py> for Maker {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self { name: object.getattr("name")?.extract()?, object: object.to_owned().unbind() })
    }
}

impl EnvFactory for Maker {
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        let kwargs = Value::Object(kwargs.clone()).to_string();
        let mut source = PySource { maker: self.clone(), kwargs, wrapping, spaces: None };
        // Whoever is wrong about the name or the options hears it now.
        let n = source.lanes(Purpose::Training, 1).max(1);
        let one = source.make(n, &Seeding::new(0, "env"), Purpose::Training).map_err(|error| refusal(name, error))?;
        source.spaces = Some(one.spaces().clone());
        Ok(Arc::new(source))
    }
}

/// What Python refuses is bad input, unless it was told to stop.
fn refusal(name: &str, error: EnvError) -> EnvError {
    let EnvError::Failed(reason) = error else { return error };
    let words = match python_cause(&*reason) {
        Some(raised) if is_to_stop(&raised) => return EnvError::Failed(reason),
        Some(raised) => Python::attach(|py| raised.value(py).to_string()),
        None => reason.to_string(),
    };
    EnvError::BadOption { env: name.to_owned(), problem: words }
}

fn purpose_word(purpose: Purpose) -> &'static str {
    if purpose == Purpose::Evaluation { "evaluation" } else { "training" }
}

struct PySource {
    maker: Maker,
    kwargs: String,
    wrapping: Wrapping,
    spaces: Option<Spaces>,
}

impl EnvSource for PySource {
    fn spaces(&self) -> Result<Spaces, EnvError> {
        self.spaces.clone().ok_or_else(|| EnvError::failed("no environment was made yet"))
    }

    fn lanes(&self, purpose: Purpose, wanted: usize) -> usize {
        let asked = |py: Python<'_>| {
            self.maker.object.call_method1(py, "lanes", (purpose_word(purpose), wanted))?.extract::<usize>(py)
        };
        Python::attach(asked).unwrap_or(wanted)
    }

    fn make(&self, n: usize, seeding: &Seeding, purpose: Purpose) -> Result<Box<dyn VecEnv>, EnvError> {
        let bridge = InProcess::open(self, n, purpose).map_err(EnvError::failed)?;
        Ok(Box::new(GymVecEnv::new(&self.maker.name, bridge, seeding, self.wrapping.frame_stack)?))
    }
}

/// A batch and the arrays that it writes.
struct InProcess {
    maker: Maker,
    batch: Py<PyAny>,
    arrays: Outcomes,
    quick: Option<Quick>,
    spaces: Spaces,
    n: usize,
}

struct Outcomes {
    obs_floats: Py<PyArray2<f32>>,
    obs_bytes: Py<PyArray2<u8>>,
    final_floats: Py<PyArray2<f32>>,
    final_bytes: Py<PyArray2<u8>>,
    reward: Py<PyArray1<f64>>,
    terminated: Py<PyArray1<u8>>,
    truncated: Py<PyArray1<u8>>,
    stepped: Py<PyArray1<u8>>,
    masks: Py<PyArray2<u8>>,
    final_masks: Py<PyArray2<u8>>,
    info: Py<PyArray2<f32>>,
}

impl Outcomes {
    fn of(arrays: &Bound<'_, PyDict>) -> PyResult<Self> {
        fn named<T>(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<Py<T>>
        where
            T: pyo3::PyTypeCheck,
        {
            Ok(arrays.as_any().get_item(name)?.cast_into::<T>().map_err(PyErr::from)?.unbind())
        }
        Ok(Self {
            obs_floats: named(arrays, "obs_floats")?,
            obs_bytes: named(arrays, "obs_bytes")?,
            final_floats: named(arrays, "final_floats")?,
            final_bytes: named(arrays, "final_bytes")?,
            reward: named(arrays, "reward")?,
            terminated: named(arrays, "terminated")?,
            truncated: named(arrays, "truncated")?,
            stepped: named(arrays, "stepped")?,
            masks: named(arrays, "masks")?,
            final_masks: named(arrays, "final_masks")?,
            info: named(arrays, "info")?,
        })
    }
}

impl InProcess {
    fn open(source: &PySource, n: usize, purpose: Purpose) -> PyResult<Self> {
        Python::attach(|py| {
            let (maker, repeat) = (source.maker.clone(), source.wrapping.action_repeat);
            let arguments = (n, purpose_word(purpose), &source.kwargs, repeat);
            let batch = maker.object.call_method1(py, "open", arguments)?.into_bound(py);
            let json = py.import("json")?.call_method1("dumps", (batch.getattr("spaces")?,))?;
            let spaces = serde_json::from_str(&json.extract::<String>()?);
            let spaces = spaces.map_err(|error| PyValueError::new_err(error.to_string()))?;
            let arrays = batch.call_method0("arrays")?.cast_into::<PyDict>().map_err(PyErr::from)?;
            batch.call_method1("bind", (&arrays,))?;
            let n = batch.getattr("num_envs")?.extract()?;
            let quick = Quick::of(&batch)?;
            Ok(Self { maker, arrays: Outcomes::of(&arrays)?, quick, batch: batch.unbind(), spaces, n })
        })
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        // When the interpreter is gone, so are they; one that does not want to be closed costs nobody anything.
        let _ = Python::try_attach(|py| self.maker.object.call_method1(py, "done", (&self.batch,)).map(|_| ()));
    }
}

impl Bridge for InProcess {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn num_envs(&self) -> usize {
        self.n
    }

    fn reset(&mut self, seeds: Option<&[u64]>) -> Result<(), EnvError> {
        let asked = Python::attach(|py| self.batch.call_method1(py, "reset", (seeds.map(<[u64]>::to_vec),)));
        asked.map(|_| ()).map_err(EnvError::failed)
    }

    fn begin(&mut self, env: usize, seed: u64) -> Result<bool, EnvError> {
        let asked = Python::attach(|py| self.batch.call_method1(py, "begin", (env, seed))?.extract(py));
        asked.map_err(EnvError::failed)
    }

    fn step(&mut self, actions: &[f32]) -> Result<(), EnvError> {
        let asked = Python::attach(|py| {
            if let Some(quick) = &mut self.quick {
                return quick.step(py, actions, self.arrays.obs_floats.bind(py), self.arrays.reward.bind(py));
            }
            let rows = PyArray1::from_slice(py, actions).reshape([self.n, actions.len() / self.n])?;
            self.batch.call_method1(py, "step", (rows,)).map(|_| ())
        });
        asked.map_err(EnvError::failed)
    }

    fn arrays(&self, part: &mut dyn FnMut(Range<usize>, Arrays<'_>)) {
        Python::attach(|py| {
            let all = &self.arrays;
            macro_rules! read {
                ($($name:ident),*) => {
                    // SAFETY: the arrays are written by environments alone, and none of them runs while we hold the interpreter.
                    // Contiguous, for `bind` has seen to it.
                    part(0..self.n, Arrays { $($name: unsafe { all.$name.bind(py).as_slice() }.unwrap_or_default()),* });
                };
            }
            read!(
                obs_floats,
                obs_bytes,
                final_floats,
                final_bytes,
                reward,
                terminated,
                truncated,
                stepped,
                masks,
                final_masks,
                info
            );
        });
    }

    fn render(&mut self, env: usize) -> Result<Option<Frame>, EnvError> {
        let asked = Python::attach(|py| {
            let picture = self.batch.call_method1(py, "render", (env,))?.into_bound(py);
            if picture.is_none() {
                return Ok(None);
            }
            let picture: PyReadonlyArrayDyn<'_, u8> = picture.extract()?;
            let (height, width) = (picture.shape()[0], picture.shape()[1]);
            Ok::<_, PyErr>(Some(Frame { height, width, rgb: picture.as_slice()?.to_vec() }))
        });
        asked.map_err(EnvError::failed)
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        let goal = self.spaces.goal()?;
        Python::attach(|py| {
            let has = self.batch.getattr(py, "has_rules").and_then(|has| has.extract(py)).unwrap_or(false);
            let rules = || Arc::new(Judged { batch: self.batch.clone_ref(py), goal }) as Arc<dyn TaskRules>;
            has.then(rules)
        })
    }
}

/// What other goals would have been worth, asked of the environment.
struct Judged {
    batch: Py<PyAny>,
    goal: GoalParts,
}

impl Judged {
    fn goals<'py>(py: Python<'py>, rows: &Rows<'_>, columns: &Range<usize>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let n = rows.next_obs.rows;
        let goal = |row: usize| rows.next_obs.row(row).floats[columns.clone()].to_vec();
        PyArray1::from_vec(py, (0..n).flat_map(goal).collect()).reshape([n, columns.len()])
    }
}

impl TaskRules for Judged {
    fn apply(&self, rows: Rows<'_>, reward: Option<&mut [f32]>, terminated: &mut [bool]) -> Result<(), EnvError> {
        let asked = Python::attach(|py| {
            let achieved = Self::goals(py, &rows, &self.goal.achieved)?;
            let desired = Self::goals(py, &rows, &self.goal.desired)?;
            if let Some(reward) = reward {
                let worth = self.batch.call_method1(py, "compute_reward", (&achieved, &desired))?;
                let worth: PyReadonlyArrayDyn<'_, f32> = worth.extract(py)?;
                reward.copy_from_slice(worth.as_slice()?);
            }
            let ends = self.batch.call_method1(py, "compute_terminated", (achieved, desired))?;
            let ends: PyReadonlyArrayDyn<'_, u8> = ends.extract(py)?;
            terminated.iter_mut().zip(ends.as_slice()?).for_each(|(to, from)| *to = *from != 0);
            Ok::<_, PyErr>(())
        });
        asked.map_err(EnvError::failed)
    }
}
