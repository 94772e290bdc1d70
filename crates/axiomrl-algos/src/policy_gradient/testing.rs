//! For tests of learners with rollouts: a rollout of noise, and which networks an update changes.

use crate::agent::{Clock, Setup, UpdateContext};
use crate::policy::{ActContext, ActInput, Memory, Mode};
use crate::regimes::{ActedRow, Played, RolloutLearner};
use crate::state::{Snapshot, StateIo};
use axiomrl_core::{Metrics, Rollout, RolloutSpec, stream};
use axiomrl_envs::{BoxSpace, ObsBuf, ObsWidths, Rng, Space, Spaces};
use rand::RngExt;
use std::collections::BTreeMap;

pub fn vector() -> Space {
    Space::Box(BoxSpace::uniform(3, -1.0, 1.0))
}

pub fn image() -> Space {
    Space::Box(BoxSpace::image(10, 10, 1))
}

pub fn vector_and_image() -> Space {
    Space::Dict { entries: vec![("camera".into(), image()), ("speed".into(), vector())] }
}

/// Two environments with an action of two numbers.
pub fn setup(observations: Space) -> Setup {
    let spaces = Spaces::new(observations, Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    Setup { num_envs: 2, seed: 3, ..Setup::new(spaces) }
}

/// Steps of two environments, and the memory they began with.
pub struct Noise {
    pub rollout: Rollout,
    pub starts: Vec<bool>,
    pub states: Vec<f32>,
    pub length: usize,
}

/// Observations of noise.
pub fn noise(widths: ObsWidths, rows: usize, rng: &mut Rng) -> ObsBuf {
    let mut obs = ObsBuf::zeros(widths, rows);
    obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
    obs.bytes.iter_mut().for_each(|x| *x = rng.random());
    obs
}

impl Noise {
    /// Four steps of [`setup`]'s environments, in sequences of `length`.
    pub fn new(learner: &mut dyn RolloutLearner, setup: &Setup, length: usize) -> Self {
        let mut rng = stream(5, "rollout");
        let (steps, lanes) = (4, 2);
        let (widths, action_width) = (setup.spaces.obs().widths, setup.action_width());
        let (raw, intrinsic) = (learner.keeps_raw(), learner.intrinsic().is_some());
        let spec = RolloutSpec { steps, lanes, widths, action_width, mask_width: 0, raw, intrinsic };
        let mut rollout = Rollout::new(spec);
        let mut memory = Memory::new(lanes, learner.memory_width());
        let states = memory.state.repeat(steps.div_ceil(length));
        for t in 0..steps {
            let obs = noise(widths, lanes, &mut rng);
            let (mut actions, mut log_probs) = (vec![0.0; lanes * action_width], [0.0; 2]);
            let mut values = vec![0.0; lanes * (1 + usize::from(intrinsic))];
            let row = ActedRow { actions: &mut actions, log_probs: &mut log_probs, values: &mut values };
            learner
                .play(ActInput::of(obs.as_ref()), ActContext::new(&mut memory, Mode::Sample, &mut rng), row)
                .unwrap();
            memory.starts.fill(false);
            rollout.begin_row(t, obs.as_ref(), &[], &actions, &log_probs, &values);
            if raw {
                rollout.set_raw(t, obs.as_ref());
                let next = noise(widths, lanes, &mut rng);
                (0..lanes).for_each(|lane| rollout.set_next_obs(t, lane, next.row(lane)));
            }
            (0..lanes).for_each(|lane| rollout.set_outcome(t, lane, rng.random_range(-1.0..1.0), false, false));
        }
        rollout.compute_gae(0.9, 0.9);
        let mut starts = vec![false; steps * lanes];
        starts[..lanes].fill(true);
        Self { rollout, starts, states, length }
    }

    pub fn played(&self) -> Played<'_> {
        let Self { rollout, starts, states, length } = self;
        Played { rollout, starts, states, length: *length, statistics: None }
    }
}

/// One update in the middle of a run; gives what it says and what it logged.
pub fn update(learner: &mut dyn RolloutLearner, noise: &Noise) -> (bool, BTreeMap<String, f64>) {
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 8, updates: 0, at: 8, total: 100 };
    let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
    let done = learner.update(noise.played(), &mut context).unwrap();
    (done, metrics.take().into_iter().map(|(name, value)| (name.into_owned(), value)).collect())
}

/// Every tensor that a learner saves, by name, moments of optimisers included.
pub fn saved(learner: &mut dyn RolloutLearner) -> BTreeMap<String, Vec<f32>> {
    let mut snapshot = Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    io.policy(|io| learner.visit_policy(io)).unwrap();
    learner.visit_state(&mut io).unwrap();
    let all = snapshot.policy.tensors.into_iter().chain(snapshot.training.tensors);
    all.map(|(name, tensor)| (name, tensor.values)).collect()
}

/// Every tensor that is learned, by name.
pub fn tensors(learner: &mut dyn RolloutLearner) -> BTreeMap<String, Vec<f32>> {
    // What optimisers keep: Adam its moments, RMSProp its running squares.
    let kept = [".m", ".v", ".square", ".mean", ".velocity"];
    saved(learner).into_iter().filter(|(name, _)| !kept.iter().any(|end| name.ends_with(end))).collect()
}

/// "policy.vision.conv.0.weight" is of the network "policy.vision"; "policy.0.weight" of "policy".
fn network(name: &str) -> String {
    let curiosity = ["target", "predictor", "features", "inverse", "forward"];
    let parts = [&["vision", "encoder", "recurrent", "head", "aux"][..], &curiosity].concat();
    let mut words = name.split('.');
    let first = words.next().unwrap();
    match words.next().filter(|second| parts.contains(second)) {
        Some(second) => format!("{first}.{second}"),
        None => first.to_owned(),
    }
}

pub fn unique<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut names: Vec<String> = names.map(|name| network(name)).collect();
    names.sort();
    names.dedup();
    names.join(" ")
}

/// All networks by name.
pub fn networks(learner: &mut dyn RolloutLearner) -> String {
    unique(tensors(learner).keys())
}

/// Those of them that `work` changes.
pub fn changed<L: RolloutLearner>(learner: &mut L, work: impl FnOnce(&mut L)) -> String {
    let before = tensors(learner);
    work(learner);
    let after = tensors(learner);
    unique(before.iter().filter(|(name, values)| after[*name] != **values).map(|(name, _)| name))
}
