//! `axiomrl dataset collect`: records what somebody does.

use super::target::{Choice, Root, Target};
use super::with_share;
use crate::failure::Failure;
use crate::options::PolicySource;
use crate::output::{grouped, pairs, print, print_json};
use crate::{catalogue, policy, pool};
use axiomrl_algos::Mode;
use axiomrl_data::{Ending, Metadata, Recording};
use axiomrl_envs::scripted::{self, Expert};
use axiomrl_envs::{EnvSource, Purpose, Seeding, Wrapping};
use axiomrl_run::collect::{Amount, Behaviour, Noise, record};
use axiomrl_run::evaluate::check_spaces;
use axiomrl_run::policy::TrainedPolicy;
use clap::Args;
use serde_json::{Map, json};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records episodes of policies, of chance or of an expert written by hand
#[derive(Args)]
pub struct Collect {
    #[command(flatten)]
    actors: Actors,
    /// Which checkpoint of the run folder: last, best or step_<n> [default: best, or last where there is no best]
    #[arg(long, value_name = "NAME", requires = "run")]
    checkpoint: Option<String>,
    /// The environment to act in [default: the policy's own]
    #[arg(long, value_name = "ENV")]
    env: Option<String>,
    #[command(flatten)]
    amount: AmountOption,
    /// Normal noise of this size on Box actions, in halves of the Box's width; for choices the same as --epsilon. Random
    /// actions have enough of it
    #[arg(long, value_name = "SIZE", default_value_t = 0.0, allow_negative_numbers = true)]
    noise: f32,
    /// The probability with which an action is replaced by a random one
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    epsilon: f64,
    /// Everything random follows from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Takes each policy's best action instead of drawing one
    #[arg(long)]
    deterministic: bool,
    #[command(flatten)]
    target: Choice,
    #[command(flatten)]
    root: Root,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Actors {
    /// A run folder or a checkpoint folder, whose policy acts
    #[arg(value_name = "RUN|CHECKPOINT")]
    run: Option<PathBuf>,
    /// Uniformly random actions
    #[arg(long)]
    random: bool,
    /// The expert written by hand for the environment
    #[arg(long)]
    scripted: bool,
    /// One of several that act, and its share: a run or checkpoint folder, `random` or `scripted` (may be repeated)
    #[arg(long, value_name = "PATH:SHARE", value_parser = with_share)]
    policy: Vec<(String, f64)>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct AmountOption {
    /// Whole episodes to record
    #[arg(long, value_name = "N")]
    episodes: Option<NonZeroU64>,
    /// Transitions to record; the last episode is cut where they are reached
    #[arg(long, value_name = "N")]
    transitions: Option<NonZeroU64>,
}

impl AmountOption {
    fn amount(&self) -> Amount {
        match (self.episodes, self.transitions) {
            (Some(episodes), _) => Amount::Episodes(episodes.get()),
            (None, transitions) => Amount::Transitions(transitions.map_or(1, NonZeroU64::get)),
        }
    }
}

/// Someone who acts, with what it takes to let them.
#[expect(clippy::large_enum_variant, reason = "there are a few at most")]
enum Actor {
    Random,
    Scripted,
    Policy { policy: TrainedPolicy, folder: PathBuf },
}

/// Where to act.
struct Place {
    source: Arc<dyn EnvSource>,
    metadata: Metadata,
}

impl Collect {
    pub fn run(self) -> Result<(), Failure> {
        pool::run(None, || {
            let mut actors = self.actors()?;
            let Place { source, metadata } = self.place(&actors)?;
            let env = metadata.env_id.clone().unwrap_or_default();
            let action = source.spaces()?.action;
            let mut noise = Noise::of(self.noise, &action);
            if self.epsilon > 0.0 {
                noise.epsilon = self.epsilon;
            }
            let target = Target::of(self.target, &self.root)?;
            let mode = if self.deterministic { Mode::Best } else { Mode::Sample };
            let mut behaviours = Vec::new();
            for (actor, share) in &mut actors {
                let behaviour = match actor {
                    Actor::Random => Behaviour::Random,
                    Actor::Scripted => Behaviour::Scripted(expert(&env)?),
                    Actor::Policy { policy, folder } => {
                        check(policy, folder, source.as_ref(), &env)?;
                        Behaviour::Policy(policy.policy.as_mut(), mode)
                    }
                };
                behaviours.push((behaviour, *share as f32));
            }
            let mut recording = record(&env, source.as_ref(), &mut behaviours, self.amount.amount(), self.seed, noise)?;
            recording.metadata = metadata;
            recording.metadata.algorithm = Some(names(&actors));
            let path = target.write(&mut recording.reader())?;
            report(&path, &recording, self.json)
        })
    }

    /// Who is asked to act, with shares. Policies are loaded.
    fn actors(&self) -> Result<Vec<(Actor, f64)>, Failure> {
        let load = |path: &Path, checkpoint: Option<String>| {
            let (policy, folder) = policy::open(&PolicySource::new(path.to_owned(), checkpoint))?;
            Ok::<_, Failure>(Actor::Policy { policy, folder })
        };
        let one = |actor| Ok(vec![(actor, 1.0)]);
        match &self.actors {
            Actors { run: Some(path), .. } => one(load(path, self.checkpoint.clone())?),
            Actors { random: true, .. } => one(Actor::Random),
            Actors { scripted: true, .. } => one(Actor::Scripted),
            Actors { policy, .. } => policy
                .iter()
                .map(|(what, share)| match what.as_str() {
                    "random" => Ok((Actor::Random, *share)),
                    "scripted" => Ok((Actor::Scripted, *share)),
                    path => Ok((load(Path::new(path), None)?, *share)),
                })
                .collect(),
        }
    }

    /// The environment asked for, or that of the policies, which must then agree on it.
    fn place(&self, actors: &[(Actor, f64)]) -> Result<Place, Failure> {
        let mut configs = actors.iter().filter_map(|(actor, _)| match actor {
            Actor::Policy { policy, .. } => Some(&policy.config),
            _ => None,
        });
        let first = configs.next();
        // Stacked frames and repeated actions belong to a policy, wherever it acts.
        let wrapping = first.map_or_else(Wrapping::default, |config| Wrapping {
            action_repeat: config.action_repeat,
            frame_stack: config.frame_stack,
        });
        let (name, kwargs) = match (&self.env, first) {
            (None, None) => {
                return Err(Failure::bad_input(
                    "say which environment to act in with --env; `axiomrl envs` lists them",
                ));
            }
            (Some(name), Some(config)) if *name == config.env_id => (name, config.env_kwargs.clone()),
            (Some(name), _) => (name, Map::new()),
            (None, Some(config)) => {
                let same = |other: &&axiomrl_algos::RunConfig| {
                    (&other.env_id, &other.env_kwargs) == (&config.env_id, &config.env_kwargs)
                };
                if let Some(other) = configs.find(|other| !same(other)) {
                    let words = format!(
                        "the policies were trained in `{}` and in `{}`, or with other options; say with --env where they are to act",
                        config.env_id, other.env_id
                    );
                    return Err(Failure::bad_input(words));
                }
                (&config.env_id, config.env_kwargs.clone())
            }
        };
        let source = catalogue().source(name, &kwargs, wrapping)?;
        let own_limit = kwargs.get("max_episode_steps").and_then(serde_json::Value::as_u64);
        let limit = catalogue().find_environment(name).and_then(|entry| entry.max_steps);
        let metadata = Metadata {
            env_id: Some(name.clone()),
            max_episode_steps: own_limit.or(limit),
            env_kwargs: kwargs,
            ..Metadata::default()
        };
        Ok(Place { source, metadata })
    }
}

fn expert(env: &str) -> Result<&'static dyn Expert, Failure> {
    scripted::expert(env).ok_or_else(|| {
        let names: Vec<&str> = scripted::names().collect();
        Failure::bad_input(format!(
            "there is no scripted expert for `{env}`; there is one for {}. Elsewhere, train a policy and give its run folder",
            names.join(", ")
        ))
    })
}

/// Whether a policy can act there; otherwise says which one it is.
fn check(policy: &TrainedPolicy, folder: &Path, source: &dyn EnvSource, env: &str) -> Result<(), Failure> {
    let lanes = source.lanes(Purpose::Evaluation, 1).max(1);
    let probe = source.make(lanes, &Seeding::new(0, "collect/0"), Purpose::Evaluation)?;
    check_spaces(policy.policy.as_ref(), probe.as_ref()).map_err(|error| {
        let (folder, trained_in) = (folder.display(), &policy.config.env_id);
        Failure::bad_input(format!("{folder} was trained in `{trained_in}` and cannot act in `{env}`: {error}"))
    })
}

/// What the file is told of who acted.
fn names(actors: &[(Actor, f64)]) -> String {
    let name = |actor: &Actor| match actor {
        Actor::Random => "random".to_owned(),
        Actor::Scripted => "scripted expert".to_owned(),
        Actor::Policy { policy, .. } => policy.config.algo.clone(),
    };
    match actors {
        [(actor, _)] => name(actor),
        several => {
            several.iter().map(|(actor, share)| format!("{} {share}", name(actor))).collect::<Vec<_>>().join(", ")
        }
    }
}

fn report(path: &Path, recording: &Recording, json: bool) -> Result<(), Failure> {
    let returns: Vec<f64> = recording.episodes.iter().map(|episode| episode.episode_return()).collect();
    let count = returns.len().max(1) as f64;
    let mean = returns.iter().sum::<f64>() / count;
    let std = (returns.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let (low, high) = returns.iter().fold((f64::MAX, f64::MIN), |(low, high), &r| (low.min(r), high.max(r)));
    let terminated = recording.episodes.iter().filter(|episode| episode.ending == Ending::Terminated).count();
    let (episodes, transitions) = (returns.len(), recording.transitions());
    if json {
        return print_json(&json!({
            "path": path.display().to_string(),
            "env_id": recording.metadata.env_id,
            "behaviour": recording.metadata.algorithm,
            "episodes": episodes,
            "transitions": transitions,
            "terminated": terminated,
            "truncated": episodes - terminated,
            "mean_return": mean,
            "std_return": std,
            "min_return": low,
            "max_return": high,
        }));
    }
    let metadata = &recording.metadata;
    let behaviour = metadata.algorithm.as_deref().unwrap_or_default();
    print(&pairs(&[
        ("written", path.display().to_string()),
        ("behaviour", format!("{behaviour} in {}", metadata.env_id.as_deref().unwrap_or_default())),
        (
            "episodes",
            format!("{} ({terminated} terminated, {} truncated)", grouped(episodes as u64), episodes - terminated),
        ),
        ("transitions", grouped(transitions)),
        ("return", format!("{mean:.1} ± {std:.1}, from {low:.1} to {high:.1}")),
    ]))
}
