//! `axiomrl record`: episodes to look at.

mod imagine;

use crate::failure::Failure;
use crate::gif_file;
use crate::options::PolicySource;
use crate::output::print;
use crate::{catalogue, policy, pool};
use axiomrl_algos::{ActContext, ActInput, Memory, Mode};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{Frame, Purpose, Seeding};
use axiomrl_run::evaluate::check_spaces;
use axiomrl_run::files::write_atomic;
use axiomrl_run::policy::TrainedPolicy;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Records episodes of a trained policy as an animated GIF
#[derive(Args)]
pub struct Record {
    #[command(flatten)]
    source: PolicySource,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "episode.gif")]
    output: PathBuf,
    /// Episodes, one after the other
    #[arg(long, value_name = "N", default_value = "1")]
    episodes: NonZeroUsize,
    /// Start states follow from it [default: the seed of the run]
    #[arg(long)]
    seed: Option<u64>,
    /// Pictures per second, one for each step
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=100))]
    fps: u16,
    /// Makes the picture so many times smaller
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    downscale: u8,
    /// Draws actions as in training instead of taking the best
    #[arg(long)]
    stochastic: bool,
    /// Of policies with a model of the world: shows what is seen, what the model believes and the difference, side by side. After
    /// so many steps the model goes on by the actions alone
    #[arg(long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "5")]
    imagine: Option<usize>,
}

impl Record {
    /// One episode of the policy in a run folder, small enough to be put on a page.
    pub fn of(path: PathBuf) -> Self {
        Self {
            source: PolicySource::new(path, None),
            output: PathBuf::new(),
            episodes: NonZeroUsize::MIN,
            seed: None,
            fps: 30,
            downscale: 2,
            stochastic: false,
            imagine: None,
        }
    }

    pub fn run(self) -> Result<(), Failure> {
        let (bytes, frames) = self.gif()?;
        let path = self.output.display();
        write_atomic(&self.output, &bytes)
            .map_err(|error| Failure::bad_input(format!("cannot write {path}: {error}; choose another with -o")))?;
        print(&format!("{path}: {frames} frames, {} KiB", bytes.len().div_ceil(1024)))
    }

    /// The animation, and how many pictures it has.
    pub fn gif(&self) -> Result<(Vec<u8>, usize), Failure> {
        pool::run(None, || {
            let (mut policy, _) = policy::open(&self.source)?;
            let frames = match self.imagine {
                None => self.play(&mut policy)?,
                Some(context) => self.watch(&mut policy, context)?,
            };
            Ok((gif_file::encode(&frames, self.fps)?, frames.len()))
        })
    }

    /// The picture before every step, of all episodes.
    fn play(&self, policy: &mut TrainedPolicy) -> Result<Vec<Frame>, Failure> {
        let seed = self.seed.unwrap_or(policy.config.seed);
        // The streams of an evaluation, so the first episode is the first that `eval` plays.
        let seeding = Seeding::new(seed, "eval/0");
        let mut env = policy.environments(catalogue())?.make(1, &seeding, Purpose::Evaluation)?;
        check_spaces(policy.policy.as_ref(), env.as_ref()).map_err(Failure::bad_input)?;
        policy.policy.know_rules(env.task_rules());
        let mut rng = stream(seed, "eval/0/act");
        let mode = if self.stochastic { Mode::Sample } else { Mode::Best };
        let mut actions = vec![0.0; env.num_envs() * env.spaces().action.width()];
        let mut executed = actions.clone();
        let policy_of = &mut policy.policy;
        let mut memory = Memory::new(env.num_envs(), policy_of.memory_width());
        let (mut frames, mut ended) = (Vec::new(), 0);
        env.reset(None)?;
        while ended < self.episodes.get() {
            let frame = env.render(0).ok_or_else(|| {
                Failure::bad_input(format!("environment `{}` has no picture to record", policy.config.env_id))
            })?;
            frames.push(frame.downscaled(self.downscale.into()));
            let state = env.state();
            let input = ActInput { obs: state.obs.as_ref(), masks: &state.masks };
            policy_of.act(input, ActContext::new(&mut memory, mode, &mut rng), &mut actions).map_err(Failure::other)?;
            policy_of.action_map().to_env(&actions, &mut executed);
            env.step(0..env.num_envs(), &executed)?;
            policy_of.feedback(&mut memory, 0..env.num_envs(), &actions, &env.state().reward);
            // What is shown is the first environment; most sources make only that one.
            let over = env.state().episodes.iter().any(|end| end.env == 0);
            memory.starts.fill(over);
            ended += usize::from(over);
        }
        Ok(frames)
    }
}
