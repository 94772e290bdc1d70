//! A few episodes side by side, each written down.

use super::{Behaviour, CollectError, Noise};
use axiomrl_algos::parts::actions::random_actions;
use axiomrl_algos::{ActContext, ActInput, Memory};
use axiomrl_core::explore::GaussianNoise;
use axiomrl_core::random::uniform;
use axiomrl_data::{Ending, EpisodeBuf};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{ActionMap, ObsBuf, ObsRef, Rng, Seeding, Spaces, Stepping, VecEnv};

/// An episode that is longer than this does not end.
const LONGEST: usize = 1 << 20;

/// How episodes are played.
pub(super) struct Player<'a> {
    pub map: &'a ActionMap,
    pub noise: Noise,
    pub seed: u64,
    /// Of the random streams.
    pub name: String,
    /// Environments that are played in, from the first on.
    pub count: usize,
    /// Transitions after which nobody needs more.
    pub limit: Option<u64>,
}

/// One episode of each of the first `count` environments, in their order; those that are done wait for the others. With a limit
/// only as many of them as it takes to reach it, and none longer than that.
pub(super) fn play(
    player: &Player<'_>,
    env: &mut dyn VecEnv,
    behaviour: &mut Behaviour<'_>,
) -> Result<Vec<EpisodeBuf>, CollectError> {
    let Player { seed, ref name, count, .. } = *player;
    let (n, width, masks) = (env.num_envs(), env.spaces().action.width(), env.spaces().masks);
    let limit = player.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut rng = stream(seed, &format!("{name}/act"));
    let mut memory = match behaviour {
        Behaviour::Policy(policy, _) => {
            policy.know_rules(env.task_rules());
            Memory::new(count, policy.memory_width())
        }
        _ => Memory::default(),
    };
    let mut actions = Actions { unit: vec![0.0; n * width], executed: vec![0.0; n * width] };
    env.reset(Some(&Seeding::new(seed, name.as_str())))?;
    let mut lanes: Vec<Lane> = (0..count).map(|_| Lane::new(env.spaces())).collect();
    for (i, lane) in lanes.iter_mut().enumerate() {
        lane.begin(env, i);
    }
    while !enough(&lanes, limit) {
        let state = env.state();
        let input = ActInput { obs: state.obs.range(0..count), masks: &state.masks[..count * masks] };
        actions.choose(player, behaviour, input, env.spaces(), &mut memory, &mut rng)?;
        match env.stepping() {
            Stepping::Whole => env.step(0..n, &actions.executed)?,
            Stepping::Each => {
                // Runs of environments that are still playing.
                let mut first = 0;
                while let Some(start) = (first..count).find(|&i| !lanes[i].ended) {
                    let end = (start..count).find(|&i| lanes[i].ended).unwrap_or(count);
                    env.step(start..end, &actions.executed)?;
                    first = end;
                }
            }
        }
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.ended) {
            lane.note(env, i, &actions.executed[i * width..(i + 1) * width])?;
            lane.stop_at(limit)?;
        }
        if let Behaviour::Policy(policy, _) = behaviour {
            policy.feedback(&mut memory, 0..count, &actions.unit, &env.state().reward);
            for (start, stepped) in memory.starts.iter_mut().zip(&env.state().stepped) {
                *start |= !stepped;
            }
        }
    }
    Ok(lanes.into_iter().take_while(|lane| lane.ended).map(|lane| lane.episode).collect())
}

/// Whether all have ended, or the first ones that have are as many transitions as anybody needs.
fn enough(lanes: &[Lane], limit: Option<usize>) -> bool {
    let (mut steps, mut all) = (0usize, true);
    for lane in lanes {
        all &= lane.ended;
        if all {
            steps = steps.saturating_add(lane.episode.steps());
        }
    }
    all || limit.is_some_and(|limit| steps >= limit)
}

/// A row for every environment.
struct Actions {
    /// In [−1, 1] for a Box.
    unit: Vec<f32>,
    /// In the environment's units.
    executed: Vec<f32>,
}

impl Actions {
    fn choose(
        &mut self,
        player: &Player<'_>,
        behaviour: &mut Behaviour<'_>,
        input: ActInput<'_>,
        spaces: &Spaces,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Result<(), CollectError> {
        let acting = input.rows() * spaces.action.width();
        let unit = &mut self.unit[..acting];
        match behaviour {
            Behaviour::Random => random_actions(&spaces.action, input.masks, rng, unit),
            Behaviour::Policy(policy, mode) => {
                policy.act(input, ActContext::new(memory, *mode, rng), unit)?;
                disturb(player.noise, input, spaces, rng, unit);
            }
            Behaviour::Scripted(expert) => {
                let executed = &mut self.executed[..acting];
                expert.act(input.obs, executed);
                if player.noise.is_none() {
                    // As the expert said it, not there and back through another scale.
                    return Ok(());
                }
                player.map.to_unit(executed, unit);
                disturb(player.noise, input, spaces, rng, unit);
            }
        }
        player.map.to_env(&self.unit, &mut self.executed);
        Ok(())
    }
}

fn disturb(noise: Noise, input: ActInput<'_>, spaces: &Spaces, rng: &mut Rng, unit: &mut [f32]) {
    if noise.std > 0.0 {
        GaussianNoise { std: noise.std }.apply(unit, rng);
    }
    if noise.epsilon > 0.0 {
        for (row, action) in unit.chunks_exact_mut(spaces.action.width()).enumerate() {
            if uniform(rng) < noise.epsilon {
                random_actions(&spaces.action, input.mask(row), rng, action);
            }
        }
    }
}

/// The episode of one environment, as far as it has come.
struct Lane {
    episode: EpisodeBuf,
    ended: bool,
}

impl Lane {
    fn new(spaces: &Spaces) -> Self {
        let episode = EpisodeBuf {
            obs: ObsBuf::zeros(spaces.obs().widths, 0),
            masks: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            ending: Ending::Truncated,
        };
        Self { episode, ended: false }
    }

    /// What environment `i` shows now is the beginning; whatever came before is not part of it.
    fn begin(&mut self, env: &dyn VecEnv, i: usize) {
        let EpisodeBuf { obs, masks, actions, rewards, .. } = &mut self.episode;
        obs.floats.clear();
        obs.bytes.clear();
        masks.clear();
        actions.clear();
        rewards.clear();
        let (state, width) = (env.state(), env.spaces().masks);
        self.see(state.obs.row(i), &state.masks[i * width..(i + 1) * width]);
    }

    fn see(&mut self, obs: ObsRef<'_>, masks: &[bool]) {
        self.episode.obs.floats.extend_from_slice(obs.floats);
        self.episode.obs.bytes.extend_from_slice(obs.bytes);
        self.episode.masks.extend_from_slice(masks);
    }

    /// Takes down the step that environment `i` has just made.
    fn note(&mut self, env: &dyn VecEnv, i: usize, action: &[f32]) -> Result<(), CollectError> {
        let (state, width) = (env.state(), env.spaces().masks);
        if !state.stepped[i] {
            self.begin(env, i);
            return Ok(());
        }
        let step = self.episode.steps();
        let reward = state.reward[i];
        self.ended = state.terminated[i] || state.truncated[i];
        let (obs, masks) = if self.ended { (&state.final_obs, &state.final_masks) } else { (&state.obs, &state.masks) };
        let obs = obs.row(i);
        if let Some(value) = obs.floats.iter().find(|value| !value.is_finite()) {
            return Err(CollectError::NotFinite { step, what: format!("{value} in the observation") });
        }
        if !reward.is_finite() {
            return Err(CollectError::NotFinite { step, what: format!("a reward of {reward}") });
        }
        self.episode.actions.extend_from_slice(action);
        self.episode.rewards.push(reward);
        self.see(obs, &masks[i * width..(i + 1) * width]);
        self.episode.ending = if state.terminated[i] { Ending::Terminated } else { Ending::Truncated };
        Ok(())
    }

    fn stop_at(&mut self, limit: Option<usize>) -> Result<(), CollectError> {
        self.ended |= limit.is_some_and(|limit| self.episode.steps() >= limit);
        if !self.ended && limit.is_none() && self.episode.steps() >= LONGEST {
            return Err(CollectError::Invalid(format!(
                "an episode has not ended after {LONGEST} steps; ask for a number of transitions instead of episodes"
            )));
        }
        Ok(())
    }
}
