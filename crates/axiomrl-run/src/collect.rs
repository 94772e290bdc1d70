//! Episodes recorded from whatever acts: a trained policy, an expert written by hand, chance, or several of them by share.
//!
//! What is recorded is what was executed, in the environment's own units, with the observation that an episode ended on and
//! with terminated and truncated told apart. All of it follows from the seed.

mod play;
pub mod ready;
#[cfg(test)]
mod tests;

use crate::evaluate::{EvalError, check_spaces};
use axiomrl_algos::{LearnError, Mode, Policy};
use axiomrl_data::{DataError, Ending, EpisodeBuf, Recording};
use axiomrl_envs::scripted::Expert;
use axiomrl_envs::{ActionMap, EnvError, EnvSource, Purpose, Seeding, Space, VecEnv};
use play::{Player, play};

/// Environments that are played in together.
const TOGETHER: usize = 8;

/// Who acts.
pub enum Behaviour<'a> {
    /// Uniformly random actions, among those that are allowed.
    Random,
    Scripted(&'a dyn Expert),
    Policy(&'a mut dyn Policy, Mode),
}

/// How much is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Episodes(u64),
    /// Exactly so many: the last episode of each behaviour is cut where they are reached, and counts as truncated there.
    Transitions(u64),
}

/// What is done to the actions of policies and experts. Random ones are left as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Standard deviation of normal noise on Box actions, in units of half the Box's width.
    pub std: f32,
    /// The probability with which a step's action is a random one.
    pub epsilon: f64,
}

impl Noise {
    /// One number for any kind of actions: a standard deviation for a Box, a probability for choices.
    pub fn of(size: f32, action: &Space) -> Self {
        match action {
            Space::Box(_) => Self { std: size, epsilon: 0.0 },
            _ => Self { std: 0.0, epsilon: f64::from(size) },
        }
    }

    fn is_none(self) -> bool {
        self.std == 0.0 && self.epsilon == 0.0
    }
}

/// Why nothing, or not all, was recorded.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error(transparent)]
    Policy(#[from] EvalError),
    #[error(transparent)]
    Data(#[from] DataError),
    /// A request that cannot be met.
    #[error("{0}")]
    Invalid(String),
    #[error("step {step} of an episode brought {what}, which nothing can be learned from; mend the environment")]
    NotFinite { step: usize, what: String },
}

/// Plays episodes, and hands each to `sink` as it is complete. A behaviour plays its share of the episodes, or of the
/// transitions; shares are weights, which are divided by their sum. Behaviours take turns, so that whoever reads only the
/// beginning has some of each.
pub fn collect(
    source: &dyn EnvSource,
    behaviours: &mut [(Behaviour<'_>, f32)],
    amount: Amount,
    seed: u64,
    noise: Noise,
    sink: &mut dyn FnMut(EpisodeBuf) -> Result<(), DataError>,
) -> Result<(), CollectError> {
    let (total, unit) = match amount {
        Amount::Episodes(n) => (n, "episodes"),
        Amount::Transitions(n) => (n, "transitions"),
    };
    check_noise(noise)?;
    let mut quotas = quotas(&behaviours.iter().map(|(_, share)| *share).collect::<Vec<_>>(), total, unit)?;
    let lanes = source.lanes(Purpose::Evaluation, usize::try_from(total).map_or(TOGETHER, |total| total.min(TOGETHER)));
    if lanes == 0 {
        return Err(EvalError::NoEnvironments.into());
    }
    let mut env = source.make(lanes, &Seeding::new(seed, "collect/0"), Purpose::Evaluation)?;
    check(behaviours, env.as_ref())?;
    let map = ActionMap::of(&env.spaces().action)?;
    let mut group = 0;
    while let Some(next) = furthest_behind(&quotas) {
        let quota = &mut quotas[next];
        let (count, limit) = match amount {
            Amount::Episodes(_) => (quota.left(), None),
            Amount::Transitions(_) => (quota.left().div_ceil(quota.mean_length()), Some(quota.left())),
        };
        let count = usize::try_from(count).map_or(lanes, |count| count.min(lanes));
        let player = Player { map: &map, noise, seed, name: format!("collect/{group}"), count, limit };
        for mut episode in play(&player, env.as_mut(), &mut behaviours[next].0)? {
            if quota.left() == 0 {
                break;
            }
            let steps = match amount {
                Amount::Episodes(_) => 1,
                Amount::Transitions(_) => cut(&mut episode, quota.left(), env.spaces().masks),
            };
            quota.done += steps;
            quota.episodes += 1;
            sink(episode)?;
        }
        group += 1;
    }
    Ok(())
}

/// As [`collect`], kept in memory. `name` is what messages call it.
pub fn record(
    name: &str,
    source: &dyn EnvSource,
    behaviours: &mut [(Behaviour<'_>, f32)],
    amount: Amount,
    seed: u64,
    noise: Noise,
) -> Result<Recording, CollectError> {
    let mut recording = Recording::new(name, source.spaces()?);
    collect(source, behaviours, amount, seed, noise, &mut |episode| {
        recording.episodes.push(episode);
        Ok(())
    })?;
    Ok(recording)
}

fn check_noise(noise: Noise) -> Result<(), CollectError> {
    if !(0.0..=1.0).contains(&noise.epsilon) {
        let words = format!("the probability of a random action is {}; give one from 0 to 1", noise.epsilon);
        return Err(CollectError::Invalid(words));
    }
    if !(noise.std >= 0.0 && noise.std.is_finite()) {
        return Err(CollectError::Invalid(format!("noise of size {} is none; give a number from 0 on", noise.std)));
    }
    Ok(())
}

/// Whether everyone can act in this environment.
fn check(behaviours: &[(Behaviour<'_>, f32)], env: &dyn VecEnv) -> Result<(), CollectError> {
    for (behaviour, _) in behaviours {
        match behaviour {
            Behaviour::Random => {}
            Behaviour::Policy(policy, _) => check_spaces(&**policy, env)?,
            Behaviour::Scripted(expert) if expert.fits(env.spaces()) => {}
            Behaviour::Scripted(_) => {
                return Err(CollectError::Invalid(
                    "the scripted expert cannot read these observations; use its environment, with `frame_stack` 1"
                        .into(),
                ));
            }
        }
    }
    Ok(())
}

/// What one behaviour is to play, and has played.
struct Quota {
    total: u64,
    done: u64,
    episodes: u64,
}

impl Quota {
    fn left(&self) -> u64 {
        self.total - self.done
    }

    /// Of its episodes so far, in steps; 1 before there are any, so that all environments are used.
    fn mean_length(&self) -> u64 {
        self.done.checked_div(self.episodes).unwrap_or(1).max(1)
    }
}

/// Whole numbers that add up to `total` and come as close to the shares as that allows.
fn quotas(shares: &[f32], total: u64, unit: &str) -> Result<Vec<Quota>, CollectError> {
    let invalid = |words: String| Err(CollectError::Invalid(words));
    if total == 0 {
        return invalid(format!("0 {unit} are nothing to record; ask for one at least"));
    }
    if let Some(share) = shares.iter().find(|share| !(share.is_finite() && **share > 0.0)) {
        return invalid(format!("{share} is no share; give a number above 0"));
    }
    let sum: f64 = shares.iter().map(|&share| f64::from(share)).sum();
    let (mut quotas, mut given, mut weight) = (Vec::new(), 0, 0.0);
    for &share in shares {
        // Rounding what all up to here have together leaves no remainder to deal out.
        weight += f64::from(share);
        let up_to = (total as f64 * weight / sum).round() as u64;
        let own = up_to.min(total) - given;
        if own == 0 {
            return invalid(format!("a share of {share} in {sum} is less than one of {total} {unit}; ask for more"));
        }
        given += own;
        quotas.push(Quota { total: own, done: 0, episodes: 0 });
    }
    if quotas.is_empty() {
        return invalid("nobody acts; name a policy, `random` or `scripted`".into());
    }
    Ok(quotas)
}

/// The behaviour that has played the least part of its quota; the first of equals, none when all are done.
fn furthest_behind(quotas: &[Quota]) -> Option<usize> {
    let part = |i: &usize| quotas[*i].done as f64 / quotas[*i].total as f64;
    (0..quotas.len()).filter(|&i| quotas[i].left() > 0).min_by(|a, b| part(a).total_cmp(&part(b)))
}

/// Keeps the first `steps` of an episode, and says how many there are.
fn cut(episode: &mut EpisodeBuf, steps: u64, masks: usize) -> u64 {
    let found = episode.steps();
    let keep = usize::try_from(steps).map_or(found, |steps| steps.min(found));
    if keep < found {
        let widths = episode.obs.widths();
        episode.obs.reshape(widths, keep + 1);
        episode.masks.truncate((keep + 1) * masks);
        episode.actions.truncate(episode.actions.len() / found * keep);
        episode.rewards.truncate(keep);
        episode.ending = Ending::Truncated;
    }
    keep as u64
}
