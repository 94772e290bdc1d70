//! What of these learners acts, on its own.

mod by_hand;
mod memory;

use crate::agent::Setup;
use crate::policy::{ActContext, ActInput, Memory, Mode, Policy};
use crate::q_learning::{Dqn, DqnConfig, HeadKind, Naf, NafConfig, presets};
use crate::registry::Algorithm;
use crate::state::{Snapshot, StateIo};
use axiomrl_envs::{BoxSpace, ObsRef, Space, Spaces};

const ROWS: usize = 64;

fn setup(action: Space, seed: u64) -> Setup {
    Setup { seed, ..Setup::new(Spaces::new(Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), action)) }
}

/// Two rounds of best actions: memories are empty in the first only.
fn acts(policy: &mut dyn Policy, setup: &Setup) -> Vec<f32> {
    let mut rng = axiomrl_core::stream(3, "test");
    let obs: Vec<f32> = (0..ROWS * 2).map(|_| axiomrl_core::random::normal(&mut rng)).collect();
    let mut memory = Memory::new(ROWS, policy.memory_width());
    let mut actions = vec![0.0; 2 * ROWS * setup.action_width()];
    for half in actions.chunks_exact_mut(ROWS * setup.action_width()) {
        let input = ActInput::of(ObsRef::of_floats(ROWS, &obs));
        policy.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), half).unwrap();
    }
    actions
}

/// A policy of another seed acts as this one once it has loaded what acting needs, and that is in `parts` alone.
fn acts_from<A: Algorithm>(config: impl Fn() -> A::Config, action: Space, parts: &[&str]) {
    let policy = |seed| {
        let setup = setup(action.clone(), seed);
        (A::build(config(), &setup).unwrap().into_policy(&setup).unwrap(), setup)
    };
    let (mut first, setup) = policy(1);
    let (mut second, _) = policy(2);
    let wanted = acts(&mut *first, &setup);
    assert_ne!(acts(&mut *second, &setup), wanted);
    let mut saved = Snapshot::default();
    first.visit_state(&mut StateIo::save(&mut saved, None)).unwrap();
    for name in saved.policy.tensors.keys() {
        assert!(parts.iter().any(|part| name.starts_with(part)), "{name} is not needed to act");
    }
    for part in parts {
        assert!(saved.policy.tensors.keys().any(|name| name.starts_with(part)), "{part} is missing");
    }
    assert!(saved.policy.values.is_empty() && saved.training == Default::default());
    second.visit_state(&mut StateIo::load(&saved, None)).unwrap();
    assert_eq!(acts(&mut *second, &setup), wanted);
}

#[test]
fn the_online_network_alone_acts() {
    let choices = || Space::Discrete { n: 3 };
    let noisy = || DqnConfig { dueling: true, noisy: true, ..DqnConfig::default() };
    acts_from::<Dqn>(noisy, choices(), &["q.action.", "q.value."]);
    let torso = ["q.torso.", "q.embedding.", "q.head."];
    let head = |head| move || DqnConfig { head, num_quantiles: 4, ..DqnConfig::default() };
    acts_from::<Dqn>(head(HeadKind::Implicit), choices(), &torso);
    acts_from::<Dqn>(head(HeadKind::Fqf), choices(), &[&torso[..], &["fractions."]].concat());
    acts_from::<Dqn>(presets::r2d2, choices(), &["q.encoder.", "q.recurrent.", "q.action.", "q.value."]);
    acts_from::<Naf>(NafConfig::default, Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), &["q."]);
}
