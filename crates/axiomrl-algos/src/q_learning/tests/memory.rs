//! One update of learners that remember: what it changes, and what it does not look at.

use crate::agent::{Clock, Setup, UpdateContext};
use crate::parts::torso::MemoryKind;
use crate::policy::{ActContext, ActInput, Memory, Mode};
use crate::q_learning::scale::Scale;
use crate::q_learning::{Backup, Dqn, DqnConfig, HeadKind, presets};
use crate::regimes::{Learner, ReplayLearner};
use crate::registry::Algorithm;
use crate::state::{Snapshot, StateIo};
use axiomrl_core::{Batch, BatchShape, Metrics};
use axiomrl_envs::{BoxSpace, ObsRef, ObsWidths, Space, Spaces};
use std::collections::BTreeMap;

const ROWS: usize = 3;
const STEPS: usize = 6;

type Tensors = BTreeMap<String, Vec<f32>>;

fn learner(config: DqnConfig) -> Box<dyn ReplayLearner> {
    let spaces = Spaces::new(Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), Space::Discrete { n: 3 });
    match Dqn::build(config, &Setup { seed: 1, ..Setup::new(spaces) }) {
        Ok(Learner::OffPolicy(learner, _)) => learner,
        _ => panic!("an off-policy learner"),
    }
}

fn small() -> DqnConfig {
    DqnConfig {
        hidden_sizes: vec![6],
        recurrent_hidden_size: 5,
        head_sizes: vec![4],
        num_atoms: 5,
        num_quantiles: 4,
        embedding_dim: 3,
        ..presets::drqn()
    }
}

/// Random sequences. The first has an end in its middle, the second is padded at its end, the third is whole.
fn sequences() -> Batch {
    let mut rng = axiomrl_core::stream(4, "test");
    let mut normal = || axiomrl_core::random::normal(&mut rng);
    let mut batch = Batch::default();
    let widths = ObsWidths { floats: 2, bytes: 0 };
    batch.resize(&BatchShape { steps: STEPS, widths, action_width: 1, mask_width: 0, state_width: 0 }, ROWS);
    batch.obs.floats.iter_mut().for_each(|x| *x = normal());
    // Small, so that Huber's loss is quadratic and every target counts.
    batch.reward.iter_mut().for_each(|r| *r = 0.1 * normal());
    batch.action.iter_mut().enumerate().for_each(|(i, a)| *a = (i * 7 % 3) as f32);
    for t in 0..STEPS {
        for row in 0..ROWS {
            let at = t * ROWS + row;
            (batch.discount[at], batch.next[at], batch.valid[at]) = (0.9, t as u32 + 1, true);
        }
    }
    for closing in [3 * ROWS, 5 * ROWS + 1] {
        (batch.discount[closing], batch.reward[closing], batch.valid[closing]) = (0.0, 0.0, false);
    }
    batch.starts[4 * ROWS] = true;
    batch.weight.copy_from_slice(&[0.5, 1.0, 0.8]);
    batch
}

fn update(learner: &mut dyn ReplayLearner, batch: &Batch) -> Vec<f32> {
    let (mut rng, mut metrics) = (axiomrl_core::stream(5, "test"), Metrics::default());
    let clock = Clock { total: 100, ..Clock::default() };
    let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
    learner.update(batch, &mut context).unwrap();
    context.errors
}

/// Everything with a name, those of the target included.
fn tensors(learner: &mut dyn ReplayLearner) -> Tensors {
    let mut saved = Snapshot::default();
    let mut io = StateIo::save(&mut saved, None);
    learner.visit_policy(&mut io).unwrap();
    learner.visit_state(&mut io).unwrap();
    let sections = [saved.policy.tensors, saved.training.tensors];
    sections.into_iter().flatten().map(|(name, tensor)| (name, tensor.values)).collect()
}

/// The tensors after one update of a new learner.
fn learned(config: &DqnConfig, batch: &Batch) -> Tensors {
    let mut learner = learner(config.clone());
    update(&mut *learner, batch);
    tensors(&mut *learner)
}

/// What learns, by the beginnings of names.
const ONLINE: [&str; 8] =
    ["q.encoder.", "q.recurrent.", "q.action.", "q.value.", "q.torso.", "q.embedding.", "q.head.", "fractions."];

/// One update changes every tensor of the online network, and none of the target; every sequence has its error.
fn learns(config: DqnConfig) {
    let mut learner = learner(config.clone());
    let before = tensors(&mut *learner);
    let errors = update(&mut *learner, &sequences());
    assert!(errors.len() == ROWS && errors.iter().all(|e| e.is_finite() && *e > 0.0), "{errors:?}");
    let after = tensors(&mut *learner);
    for (name, values) in &before {
        // A tensor of one number may be where nothing pulls.
        let online = ONLINE.iter().any(|part| name.starts_with(part)) && values.len() > 1;
        assert!(!online || after[name] != *values, "{name} of {config:?}");
        if name.starts_with("q_target.") {
            assert_eq!(after[name], *values, "{name}");
        }
    }
    for part in ["q.encoder.", "q.recurrent.", "q_target.encoder.", "q_target.recurrent."] {
        assert!(before.keys().any(|name| name.starts_with(part)), "{part} is missing");
    }
}

#[test]
fn a_memory_goes_with_every_other_setting() {
    let head = |head| DqnConfig { head, ..small() };
    learns(small());
    learns(DqnConfig { memory: MemoryKind::Gru, double_q: true, burn_in: 2, ..small() });
    learns(DqnConfig { dueling: true, ..small() });
    learns(DqnConfig { head_sizes: Vec::new(), ..small() });
    learns(head(HeadKind::Categorical));
    learns(head(HeadKind::Quantile));
    learns(head(HeadKind::Implicit));
    learns(DqnConfig { head_sizes: Vec::new(), ..head(HeadKind::Implicit) });
    learns(head(HeadKind::Fqf));
    learns(DqnConfig { noisy: true, ..small() });
    learns(DqnConfig { twin: true, double_q: true, ..small() });
    learns(DqnConfig { backup: Backup::Soft, munchausen_alpha: 0.9, ..small() });
    learns(DqnConfig { advantage_alpha: 0.9, persistent_advantage: true, ..small() });
    for head in [HeadKind::Scalar, HeadKind::Categorical, HeadKind::Quantile, HeadKind::Implicit] {
        learns(DqnConfig { head, value_rescale: true, double_q: true, v_min: -3.0, v_max: 3.0, ..small() });
    }
}

#[test]
fn a_burn_in_fills_the_memory_and_teaches_nothing() {
    let batch = sequences();
    let burning = learned(&DqnConfig { burn_in: 2, double_q: true, ..small() }, &batch);
    // The same with what is remembered after two observations, and without them.
    let plain = DqnConfig { double_q: true, ..small() };
    let mut learner = learner(plain.clone());
    let mut memory = Memory::new(ROWS, learner.memory_width());
    let mut rng = axiomrl_core::stream(6, "test");
    for t in 0..2 {
        let seen = ActInput::of(batch.obs.range(t * ROWS..(t + 1) * ROWS));
        learner.act(seen, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut [0.0; ROWS]).unwrap();
        memory.starts.fill(false);
    }
    let mut rest = Batch { steps: STEPS - 2, state: memory.state, ..batch };
    rest.obs.floats.drain(..2 * 2 * ROWS);
    rest.starts.drain(..2 * ROWS);
    rest.action.drain(..2 * ROWS);
    rest.reward.drain(..2 * ROWS);
    rest.discount.drain(..2 * ROWS);
    rest.valid.drain(..2 * ROWS);
    rest.next.drain(..2 * ROWS);
    rest.next.iter_mut().for_each(|next| *next -= 2);
    assert!(learned(&plain, &rest) == burning);
    // What is remembered matters.
    assert!(learned(&plain, &Batch { state: Vec::new(), ..rest }) != burning);
}

#[test]
fn entries_where_nothing_was_done_teach_nothing() {
    for head in [HeadKind::Scalar, HeadKind::Categorical, HeadKind::Fqf] {
        // Wide enough that no change is lost in units that are silent, and steps that grow with the gradient: Adam's first one
        // would otherwise be the same for all gradients of the same sign.
        let wide = DqnConfig { hidden_sizes: vec![32], head_sizes: vec![32], adam_eps: 1.0, ..small() };
        let config = DqnConfig { head, double_q: true, v_min: -2.0, v_max: 2.0, ..wide };
        let wanted = learned(&config, &sequences());
        let mut other = sequences();
        for at in [3 * ROWS, 5 * ROWS + 1] {
            other.action[at] = 2.0 - other.action[at];
            other.reward[at] = 7.0;
        }
        // Nobody looks at what follows the padding.
        let last = (STEPS * ROWS + 1) * 2;
        other.obs.floats[last..last + 2].fill(3.0);
        assert!(learned(&config, &other) == wanted, "{head:?}");
        // That the last observation of an episode is looked at shows that this test can fail.
        other.obs.floats[3 * ROWS * 2] += 1.0;
        assert!(learned(&config, &other) != wanted, "{head:?}");
    }
}

#[test]
fn an_episode_that_begins_remembers_nothing_of_the_one_before() {
    // Nothing is learned of the first sequence but its last entry, which is two steps into a new episode.
    let mut batch = sequences();
    (0..5).for_each(|t| batch.valid[t * ROWS] = false);
    let wanted = learned(&small(), &batch);
    batch.obs.floats[0] += 1.0;
    assert!(learned(&small(), &batch) == wanted);
    batch.starts[4 * ROWS] = false;
    assert!(learned(&small(), &batch) != wanted);
}

#[test]
fn values_are_those_of_returns() {
    let obs = [0.3, -0.2, 0.9, 0.1];
    let value = |value_rescale| {
        let mut values = [0.0; 2];
        let mut learner = learner(DqnConfig { value_rescale, ..small() });
        assert!(learner.values(ActInput::of(ObsRef::of_floats(2, &obs)), &mut values));
        values
    };
    for (returns, scaled) in value(true).iter().zip(value(false)) {
        assert_eq!(*returns, Scale::Rescaled.stretch(scaled));
    }
}
