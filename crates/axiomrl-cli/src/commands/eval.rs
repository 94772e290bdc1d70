//! `axiomrl eval`: how good is a policy?

use crate::failure::{DIVERGED, Failure};
use crate::options::PolicySource;
use crate::output::{pairs, print, print_json};
use crate::{catalogue, policy, pool};
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use clap::Args;
use serde_json::json;
use std::num::NonZeroUsize;

/// Measures a trained policy over whole episodes
#[derive(Args)]
pub struct Eval {
    #[command(flatten)]
    source: PolicySource,
    /// Episodes to play [default: eval_episodes of the run]
    #[arg(long, value_name = "N")]
    episodes: Option<NonZeroUsize>,
    /// Start states follow from it [default: 0, the episodes of the evaluations during training]
    #[arg(long)]
    seed: Option<u64>,
    /// Draws actions as in training instead of taking the best
    #[arg(long)]
    stochastic: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Eval {
    pub fn run(self) -> Result<(), Failure> {
        pool::run(None, || {
            let (mut policy, folder) = policy::open(&self.source)?;
            let options = EvalOptions {
                episodes: self.episodes.map_or(policy.config.eval_episodes, NonZeroUsize::get),
                seed: self.seed.unwrap_or(EVALUATION_SEED),
                deterministic: !self.stochastic,
            };
            let mut evaluator = Evaluator::new(policy.environments(catalogue())?);
            let result = evaluator.evaluate(policy.policy.as_mut(), &options)?;
            if let Some((episode, value)) = result.returns.iter().enumerate().find(|(_, value)| !value.is_finite()) {
                let env = &policy.config.env_id;
                let problem =
                    format!("episode {episode} in `{env}` brought a reward of {value}, so nothing was measured");
                return Err(Failure::new(DIVERGED, problem));
            }
            let (mean, std, length) = (result.mean_reward(), result.std_reward(), result.mean_length());
            if self.json {
                return print_json(&json!({
                    "checkpoint": folder.display().to_string(),
                    "algo": policy.config.algo,
                    "env_id": policy.config.env_id,
                    "seed": options.seed,
                    "episodes": options.episodes,
                    "mean_reward": mean,
                    "std_reward": std,
                    "mean_length": length,
                    "success_rate": result.success_rate(),
                    "returns": result.returns,
                    "lengths": result.lengths,
                }));
            }
            print(&pairs(&[
                ("checkpoint", folder.display().to_string()),
                ("policy", format!("{} on {}", policy.config.algo, policy.config.env_id)),
                ("reward", format!("{mean:.1} ± {std:.1} over {} episodes", options.episodes)),
                ("length", format!("{length:.1} steps")),
            ]))
        })
    }
}
