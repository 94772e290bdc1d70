//! What the examples share: their options, and a run from a packaged config to a measured policy.

use axiomrl_algos::ActInput;
use axiomrl_envs::ObsRef;
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::configs;
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use axiomrl_run::policy::TrainedPolicy;
use axiomrl_run::run_dir::RunDir;
use axiomrl_run::train::{TrainOptions, Trainer};
use clap::Parser;
use std::error::Error;
use std::path::PathBuf;

#[derive(Parser)]
pub struct Options {
    /// Environment steps; those of the packaged config if absent
    #[arg(long)]
    pub total_timesteps: Option<u64>,
    /// Where the run folder is made
    #[arg(long, default_value = "runs")]
    pub output_dir: PathBuf,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Episodes of the last evaluation
    #[arg(long, default_value_t = 20)]
    pub eval_episodes: usize,
}

/// Trains what the packaged config says, then loads the best checkpoint and measures it. Gives that policy, and the trainer with
/// the agent as it is at the end.
pub fn train_and_evaluate(config: &str) -> Result<(TrainedPolicy, Trainer), Box<dyn Error>> {
    let options = Options::parse();
    let mut settings = vec![
        format!("seed={}", options.seed),
        format!("eval_episodes={}", options.eval_episodes),
        format!("output_dir={}", options.output_dir.display()),
    ];
    settings.extend(options.total_timesteps.map(|steps| format!("total_timesteps={steps}")));
    let catalogue = Catalogue::builtin();
    let experiment = configs::read(&catalogue, config, &settings)?;
    let mut trainer = Trainer::new(experiment, TrainOptions::default(), Vec::new())?;
    let outcome = trainer.run_to_end()?;
    println!("run folder  {}", outcome.run_dir.display());
    println!("trained     {} steps, {} updates, {:.1} s", outcome.steps, outcome.updates, outcome.wall_seconds);

    let mut best = TrainedPolicy::load(&catalogue, &RunDir::open(&outcome.run_dir)?.best_checkpoint())?;
    let how = EvalOptions { episodes: options.eval_episodes, seed: EVALUATION_SEED, deterministic: true };
    let result = Evaluator::new(best.environments(&catalogue)?).evaluate(best.policy.as_mut(), &how)?;
    println!("best policy {:.1} ± {:.1} over {} episodes", result.mean_reward(), result.std_reward(), how.episodes);
    Ok((best, trainer))
}

/// What an agent for Pendulum-v1 expects of three states: upright, sideways and hanging, all at rest.
#[allow(dead_code, reason = "only the examples on Pendulum use it")]
pub fn show_pendulum_values(trainer: &mut Trainer) {
    let states: [(&str, [f32; 3]); 3] =
        [("upright", [1.0, 0.0, 0.0]), ("sideways", [0.0, 1.0, 0.0]), ("hanging", [-1.0, 0.0, 0.0])];
    for (name, state) in states {
        let mut value = [0.0];
        trainer.agent().values(ActInput::of(ObsRef::of_floats(1, &state)), &mut value);
        println!("value       {:7.1} when {name}", value[0]);
    }
}
