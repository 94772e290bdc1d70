//! Environments that are stepped one after the other, called and read from here: most show one array of numbers, whose way through
//! `_bridge.Each` would cost many times what a small environment does. Whatever is out of the ordinary goes that way nonetheless.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

pub struct Quick {
    /// `_bridge.Each`
    each: Py<PyAny>,
    steps: Vec<Py<PyAny>>,
    /// What the first choice is called; without it an action is an array.
    first: Option<i64>,
    /// Whether Python wrote something in the last step, such as an end.
    written: bool,
}

impl Quick {
    /// Environments whose steps can be read from here, if they can.
    pub fn of(batch: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let plain = batch.call_method0("plain")?;
        if plain.is_none() {
            return Ok(None);
        }
        let (each, steps, first): (Py<PyAny>, Bound<'_, PyList>, Option<i64>) = plain.extract()?;
        Ok(Some(Self { each, steps: steps.iter().map(Bound::unbind).collect(), first, written: true }))
    }

    /// Steps them all. What they show and earn goes into these arrays.
    pub fn step(
        &mut self,
        py: Python<'_>,
        actions: &[f32],
        obs: &Bound<'_, PyArray2<f32>>,
        reward: &Bound<'_, PyArray1<f64>>,
    ) -> PyResult<()> {
        let each = self.each.bind(py);
        if std::mem::take(&mut self.written) {
            each.call_method0("begin_step")?;
        }
        let width = obs.shape()[1];
        let mut looked_at = true;
        for (i, (step, action)) in
            self.steps.iter().zip(actions.chunks_exact(actions.len() / self.steps.len())).enumerate()
        {
            let answer = match self.first {
                Some(first) => step.bind(py).call1((action[0] as i64 + first,)),
                None => step.bind(py).call1((PyArray1::from_slice(py, action),)),
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => return Err(PyErr::from_value(each.call_method1("blamed", (error.into_value(py), i))?)),
            };
            let earned = match plain(&answer, width) {
                Some((shown, earned)) => {
                    // SAFETY: `bind` in Python saw to it that `obs` has a row of `width` floats for every environment, one after the
                    // other, and `plain` that `shown` has as many. Both stay while we hold them, and nobody else runs while we hold
                    // the interpreter. They may overlap, were an environment to keep what it was never given. Byte by byte, for an
                    // environment's array may lie anywhere.
                    unsafe {
                        let to = obs.data().add(i * width).cast::<u8>();
                        std::ptr::copy(shown.data().cast::<u8>(), to, width * size_of::<f32>());
                    }
                    // SAFETY: as above; the row was just written.
                    let row = unsafe { std::slice::from_raw_parts(obs.data().add(i * width), width) };
                    looked_at &= row.iter().all(|x| x.is_finite()) && earned.is_finite();
                    earned
                }
                None => {
                    (looked_at, self.written) = (false, true);
                    each.call_method1("taken", (i, answer))?.extract()?
                }
            };
            // SAFETY: there is a reward for every environment.
            unsafe { *reward.data().add(i) = earned };
        }
        // Numbers that are none, or what was written by others.
        if !looked_at {
            each.call_method0("check")?;
        }
        Ok(())
    }
}

/// The observation and the reward of a step that did not end an episode, if they can be read as they are.
fn plain<'a, 'py>(answer: &'a Bound<'py, PyAny>, width: usize) -> Option<(Borrowed<'a, 'py, PyArray1<f32>>, f64)> {
    let answer = answer.cast::<PyTuple>().ok().filter(|answer| answer.len() == 5)?;
    let ended = |at: usize| answer.get_borrowed_item(at).and_then(|said| said.is_truthy()).unwrap_or(true);
    if ended(2) || ended(3) {
        return None;
    }
    let earned = answer.get_borrowed_item(1).ok()?.extract().ok()?;
    // Last: to ask for the others may run code of the environment's, which may change the array.
    let shown = answer.get_borrowed_item(0).ok()?.cast::<PyArray1<f32>>().ok()?;
    (shown.len() == width && shown.is_c_contiguous()).then_some((shown, earned))
}
