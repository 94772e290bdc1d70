//! A batch behind a bridge as the engine steps it.

use crate::bridge::{Arrays, Bridge};
use crate::stack::Stack;
use axiomrl_envs::{EnvError, EpisodeEnd, Frame, Seeding, Spaces, Stepping, TaskRules, VecEnv, VecState};
use std::cell::RefCell;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Gymnasium's environments, stepped as a whole. They have no snapshots: a run that is resumed begins new episodes.
pub struct GymVecEnv<B> {
    /// A picture is taken of a batch that is only looked at.
    bridge: RefCell<B>,
    spaces: Spaces,
    stack: Stack,
    state: VecState,
    running: Vec<Running>,
    /// Seeds of the first reset.
    first: Option<Seeding>,
    success: Option<usize>,
    has_goals: bool,
}

/// The episode under way.
#[derive(Clone, Copy, Default)]
struct Running {
    episode_return: f64,
    length: u64,
}

impl<B: Bridge> GymVecEnv<B> {
    /// `env` is what users know the environments by; `frame_stack` observations are shown at once.
    pub fn new(env: &str, bridge: B, seeding: &Seeding, frame_stack: usize) -> Result<Self, EnvError> {
        let inner = bridge.spaces();
        let (observation, stack) = Stack::of(env, &inner.observation, frame_stack)?;
        let spaces = Spaces { observation, ..inner.clone() };
        let n = bridge.num_envs();
        Ok(Self {
            state: VecState::new(&spaces, n),
            running: vec![Running::default(); n],
            first: Some(seeding.clone()),
            success: spaces.info.iter().position(|name| name == "success"),
            has_goals: spaces.goal().is_some(),
            bridge: RefCell::new(bridge),
            spaces,
            stack,
        })
    }

    /// Shows the beginning of an episode in these rows.
    fn begin_rows(&mut self, wanted: Range<usize>) {
        let Self { bridge, state, running, stack, spaces, .. } = self;
        running[wanted.clone()].fill(Running::default());
        bridge.get_mut().arrays(&mut |range, arrays| {
            for (row, env) in range.enumerate().filter(|(_, env)| wanted.contains(env)) {
                show(*stack, state, spaces.masks, env, row, &arrays, true);
            }
        });
    }

    /// Takes over what a step brought.
    fn take_over(&mut self) {
        let Self { bridge, state, running, stack, spaces, success, has_goals, .. } = self;
        let (masks, columns) = (spaces.masks, spaces.info.len());
        bridge.get_mut().arrays(&mut |range, arrays| {
            for (row, env) in range.enumerate() {
                let (terminated, truncated) = (arrays.terminated[row] != 0, arrays.truncated[row] != 0);
                let (stepped, ended) = (arrays.stepped[row] != 0, terminated || truncated);
                state.reward[env] = arrays.reward[row] as f32;
                (state.terminated[env], state.truncated[env]) = (terminated, truncated && !terminated);
                state.stepped[env] = stepped;
                let info = &arrays.info[row * columns..][..columns];
                for (to, from) in state.info[env * columns..][..columns].iter_mut().zip(info) {
                    // Some columns say nothing before an episode's end.
                    *to = if from.is_nan() { 0.0 } else { *from };
                }
                if !stepped {
                    running[env] = Running::default();
                } else {
                    running[env].episode_return += arrays.reward[row];
                    running[env].length += 1;
                }
                if ended {
                    let Running { episode_return, length } = std::mem::take(&mut running[env]);
                    let said = success.map(|column| info[column]).filter(|value| !value.is_nan());
                    let reached = said.map(|value| value > 0.5).or(has_goals.then_some(terminated));
                    state.episodes.push(EpisodeEnd { env, episode_return, length, success: reached });
                    show_final(*stack, state, masks, env, row, &arrays);
                }
                show(*stack, state, masks, env, row, &arrays, ended || !stepped);
            }
        });
    }
}

/// Writes what is to be acted on next.
fn show(stack: Stack, state: &mut VecState, masks: usize, env: usize, row: usize, from: &Arrays<'_>, begins: bool) {
    let mask = &from.masks[row * masks..][..masks];
    state.masks[env * masks..][..masks].iter_mut().zip(mask).for_each(|(to, from)| *to = *from != 0);
    let obs = state.obs.row_mut(env);
    let floats = row_of(from.obs_floats, from.reward.len(), row);
    let bytes = row_of(from.obs_bytes, from.reward.len(), row);
    if begins {
        stack.fill(floats, obs.floats);
        stack.fill(bytes, obs.bytes);
    } else {
        stack.push(floats, obs.floats);
        stack.push(bytes, obs.bytes);
    }
}

/// Writes the end of an episode: what was shown until now, and then its last observation.
fn show_final(stack: Stack, state: &mut VecState, masks: usize, env: usize, row: usize, from: &Arrays<'_>) {
    let mask = &from.final_masks[row * masks..][..masks];
    state.final_masks[env * masks..][..masks].iter_mut().zip(mask).for_each(|(to, from)| *to = *from != 0);
    let mut last = state.final_obs.row_mut(env);
    last.copy_from(state.obs.row(env));
    stack.push(row_of(from.final_floats, from.reward.len(), row), last.floats);
    stack.push(row_of(from.final_bytes, from.reward.len(), row), last.bytes);
}

fn row_of<T>(block: &[T], rows: usize, row: usize) -> &[T] {
    let width = block.len() / rows;
    &block[row * width..][..width]
}

impl<B: Bridge> VecEnv for GymVecEnv<B> {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn num_envs(&self) -> usize {
        self.running.len()
    }

    fn stepping(&self) -> Stepping {
        Stepping::Whole
    }

    fn reset(&mut self, seeding: Option<&Seeding>) -> Result<(), EnvError> {
        let first = self.first.take();
        let n = self.num_envs();
        let seeds: Option<Vec<u64>> =
            seeding.or(first.as_ref()).map(|seeding| (0..n).map(|i| seeding.number(i)).collect());
        self.bridge.get_mut().reset(seeds.as_deref())?;
        self.state.clear_outcomes();
        self.begin_rows(0..n);
        Ok(())
    }

    fn begin(&mut self, env: usize, seeding: &Seeding) -> Result<bool, EnvError> {
        let begun = self.bridge.get_mut().begin(env, seeding.number(0))?;
        if begun {
            self.begin_rows(env..env + 1);
        }
        Ok(begun)
    }

    fn step(&mut self, _: Range<usize>, actions: &[f32]) -> Result<(), EnvError> {
        self.state.episodes.clear();
        self.bridge.get_mut().step(actions)?;
        self.take_over();
        Ok(())
    }

    fn state(&self) -> &VecState {
        &self.state
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        self.bridge.borrow().task_rules()
    }

    fn render(&self, env: usize) -> Option<Frame> {
        self.bridge.borrow_mut().render(env).unwrap_or_else(|error| {
            // Who asks for a picture hears that there is none; here is why. Nobody may be listening.
            let _ = writeln!(std::io::stderr(), "note: no picture of environment {env}: {error}");
            None
        })
    }
}
