//! Every environment of [Gymnasium](https://gymnasium.farama.org) for the engine, without Python linked into it.
//!
//! Environments run in worker processes of a Python that has numpy and gymnasium. What they show lies in memory that both sides
//! see; commands go through pipes. A worker that dies or hangs is replaced, a few times, and its episodes are lost; an
//! environment that raises an exception ends the run, which saves itself first.
//!
//! [`Bridge`] is what a batch must be able to do. [`GymVecEnv`] makes a [`VecEnv`](axiomrl_envs::VecEnv) of any, so batches that
//! live in this process (under an embedding Python) mean the same.

mod bridge;
mod python;
mod rules;
mod settings;
mod shared;
mod source;
mod stack;
mod tools;
mod vec_env;
mod worker;
mod workers;

pub use bridge::{Arrays, Bridge};
pub use python::{PYTHON_VARIABLE, executable};
pub use source::{GymResolver, GymSource};
pub use tools::{Check, Finding, Known, check, known};
pub use vec_env::GymVecEnv;
