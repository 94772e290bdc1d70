//! For tests of learners: batches of noise, and which networks an update changes.

use crate::agent::{Agent, Clock, Need, Setup, UpdateContext};
use crate::regimes::ReplayLearner;
use crate::state::{Section, Snapshot, StateIo, StoreIo, Streamed};
use axiomrl_core::{Batch, BatchShape, Metrics, PagedStore, stream};
use axiomrl_envs::{ActionMap, BoxSpace, ObsSpace, Purpose, Seeding, Space, Spaces};
use rand::RngExt;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Numbers alone, and numbers beside an image.
pub fn vector_and_image(action: &Space) -> [Setup; 2] {
    let vector = Space::Box(BoxSpace::uniform(3, -1.0, 1.0));
    let camera = Space::Box(BoxSpace::image(10, 5, 1));
    let both = Space::Dict { entries: vec![("camera".into(), camera), ("speed".into(), vector.clone())] };
    [vector, both].map(|observation| Setup { seed: 3, ..Setup::new(Spaces::new(observation, action.clone())) })
}

/// Transitions of noise; every action is allowed.
pub fn batch(setup: &Setup, rows: usize) -> Batch {
    let (mut rng, mut batch) = (stream(5, "batch"), Batch::default());
    let widths = ObsSpace::of(setup.observation_space()).widths;
    let action_width = setup.action_width();
    batch.resize(&BatchShape { steps: 1, widths, action_width, ..BatchShape::default() }, rows);
    batch.obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
    batch.obs.bytes.iter_mut().for_each(|byte| *byte = rng.random());
    batch.action.iter_mut().for_each(|a| {
        *a = match setup.action_space() {
            Space::Discrete { n } => rng.random_range(0..*n) as f32,
            _ => rng.random_range(-1.0..1.0),
        }
    });
    batch.reward.iter_mut().for_each(|r| *r = rng.random_range(-1.0..1.0));
    batch.discount.fill(0.9);
    batch
}

/// Every tensor of the networks, by name.
pub fn tensors(learner: &mut dyn ReplayLearner) -> BTreeMap<String, Vec<f32>> {
    let mut snapshot = Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    io.policy(|io| learner.visit_policy(io)).unwrap();
    learner.visit_state(&mut io).unwrap();
    let all = snapshot.policy.tensors.into_iter().chain(snapshot.training.tensors);
    // Adam's moments end in `.m` and `.v`.
    let networks = all.filter(|(name, _)| !name.ends_with(".m") && !name.ends_with(".v"));
    networks.map(|(name, tensor)| (name, tensor.values)).collect()
}

/// The networks that `work` changes: the first word of a tensor's name, with `.vision` behind it for what looks at images.
pub fn changed<L: ReplayLearner>(learner: &mut L, work: impl FnOnce(&mut L)) -> Vec<String> {
    let before = tensors(learner);
    work(learner);
    let after = tensors(learner);
    let moved = before.iter().filter(|(name, values)| after[*name] != **values).map(|(name, _)| name);
    let network = |name: &String| {
        let words: Vec<&str> = name.split('.').collect();
        if words.contains(&"vision") { format!("{}.vision", words[0]) } else { words[0].to_owned() }
    };
    moved.map(network).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Runs with what an update in the middle of a run may use.
pub fn with_context<R>(work: impl FnOnce(&mut UpdateContext<'_>) -> R) -> R {
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 10, updates: 1, at: 10, total: 100 };
    work(&mut UpdateContext::new(clock, &mut rng, &mut metrics))
}

/// One update.
pub fn update(learner: &mut dyn ReplayLearner, batch: &Batch) {
    with_context(|context| learner.update(batch, context).unwrap());
}

/// One update after which the network `target` must have moved by `tau` towards `online` as it then is, and no further.
pub fn follows(learner: &mut dyn ReplayLearner, batch: &Batch, online: &str, target: &str, tau: f32) {
    let before = tensors(learner);
    update(learner, batch);
    let after = tensors(learner);
    let mut seen = 0;
    for (name, old) in before.iter().filter(|(name, _)| name.split('.').next() == Some(target)) {
        let aim = &after[&name.replacen(target, online, 1)];
        let wanted: Vec<f32> = old.iter().zip(aim).map(|(old, aim)| tau.mul_add(aim - old, *old)).collect();
        assert_eq!(after[name], wanted, "{name}");
        assert_ne!(after[name], *aim, "{name}");
        seen += 1;
    }
    assert!(seen > 0, "there is no {target}");
}

/// All that an agent keeps: what is saved of it, and its stores as bytes.
#[derive(Debug, Default, PartialEq)]
pub struct Kept {
    snapshot: Snapshot,
    stores: BTreeMap<String, Vec<u8>>,
}

impl Kept {
    /// What acting needs.
    pub fn policy(&self) -> &Section {
        &self.snapshot.policy
    }

    /// A value beside the tensors that is kept for further training.
    pub fn value(&self, name: &str) -> &serde_json::Value {
        &self.snapshot.training.values[name]
    }
}

struct Writing<'a>(&'a mut BTreeMap<String, Vec<u8>>);

impl StoreIo for Writing<'_> {
    fn paged(&mut self, name: &str, _store: &mut dyn PagedStore) -> io::Result<()> {
        Err(io::Error::other(format!("{name} is not written whole")))
    }

    fn streamed(&mut self, name: &str, store: &mut dyn Streamed) -> io::Result<()> {
        store.write(self.0.entry(name.to_owned()).or_default())
    }
}

struct Reading<'a>(&'a BTreeMap<String, Vec<u8>>);

impl StoreIo for Reading<'_> {
    fn paged(&mut self, name: &str, _store: &mut dyn PagedStore) -> io::Result<()> {
        Err(io::Error::other(format!("{name} is not written whole")))
    }

    fn streamed(&mut self, name: &str, store: &mut dyn Streamed) -> io::Result<()> {
        store.read(&mut self.0[name].as_slice())
    }
}

pub fn keep(agent: &mut dyn Agent) -> Kept {
    let mut kept = Kept::default();
    agent.visit_state(&mut StateIo::save(&mut kept.snapshot, Some(&mut Writing(&mut kept.stores)))).unwrap();
    kept
}

/// Runs an agent with rollouts of its own in an environment, and gives what it keeps at the end. Where it is `stopping`, every
/// piece is done by an agent that was made anew and loaded: nothing but what was saved goes from one piece to the next.
pub fn drive(env_id: &str, lanes: usize, total: u64, stopping: bool, make: impl Fn(Setup) -> Box<dyn Agent>) -> Kept {
    let source = axiomrl_envs::source(env_id, &Default::default(), Default::default()).unwrap();
    let mut env = source.make(lanes, &Seeding::new(1, "env"), Purpose::Training).unwrap();
    let setup = Setup { num_envs: lanes, seed: 1, total, ..Setup::new(env.spaces().clone()) };
    let map = ActionMap::of(setup.action_space()).unwrap();
    let mut agent = make(setup.clone());
    let (mut metrics, mut clock) = (Metrics::default(), Clock { total, ..Clock::default() });
    let mut actions = vec![0.0; lanes * setup.action_width()];
    let mut executed = actions.clone();
    env.reset(None).unwrap();
    agent.restarted(0..lanes, env.state()).unwrap();
    let anew = |agent: &mut Box<dyn Agent>, clock: Clock, round: usize| {
        if stopping {
            let kept = keep(agent.as_mut());
            *agent = make(setup.clone());
            agent.visit_state(&mut StateIo::load(&kept.snapshot, Some(&mut Reading(&kept.stores)))).unwrap();
            agent.check_place(clock.env_steps, round).unwrap();
        }
    };
    loop {
        match agent.need(clock) {
            Need::Done => return keep(agent.as_mut()),
            Need::Update => clock.updates += agent.update(clock, &mut metrics).unwrap(),
            Need::Steps => {
                for (lane, seeding) in agent.begins() {
                    env.begin(lane, &seeding).unwrap();
                }
                agent.act(env.state(), clock, &mut actions).unwrap();
                map.to_env(&actions, &mut executed);
                for part in [0..1, 1..lanes] {
                    for lane in part.clone() {
                        if agent.rests(lane) {
                            continue;
                        }
                        env.step(lane..lane + 1, &executed).unwrap();
                        agent.observe(lane..lane + 1, &actions, env.state()).unwrap();
                        clock.env_steps += 1;
                    }
                    clock.at = clock.env_steps;
                    if part.end < lanes {
                        anew(&mut agent, clock, part.end);
                    }
                }
            }
        }
        anew(&mut agent, clock, 0);
    }
}
