//! What the examples share: their options, and a run from a packaged config to a measured policy.

use axiomrl_envs::ObsRef;
use axiomrl_run::checkpoint;
use axiomrl_run::configs;
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, evaluate};
use axiomrl_run::run_dir::RunDir;
use axiomrl_run::session::TrainedPolicy;
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

/// Trains what the packaged config says, then loads the best checkpoint and measures it.
pub fn train_and_evaluate(config: &str) -> Result<TrainedPolicy, Box<dyn Error>> {
    let options = Options::parse();
    let mut settings = vec![
        format!("seed={}", options.seed),
        format!("eval_episodes={}", options.eval_episodes),
        format!("output_dir={}", options.output_dir.display()),
    ];
    settings.extend(options.total_timesteps.map(|steps| format!("total_timesteps={steps}")));
    let run = configs::read(config, &settings)?;
    let outcome = Trainer::start(run, TrainOptions::default())?.run()?;
    println!("run folder  {}", outcome.run_dir.display());
    println!("trained     {} steps, {} updates, {:.1} s", outcome.steps, outcome.updates, outcome.wall_seconds);

    let saved = checkpoint::load(&RunDir::open(&outcome.run_dir)?.best_checkpoint())?;
    let mut policy = TrainedPolicy::from_snapshot(serde_json::from_value(saved.config.clone())?, &saved.snapshot)?;
    let how = EvalOptions { episodes: options.eval_episodes, seed: EVALUATION_SEED, deterministic: true };
    let result = evaluate(policy.agent.as_mut(), &policy.config, policy.normalizer.as_ref(), &how)?;
    println!("best policy {:.1} ± {:.1} over {} episodes", result.mean_reward(), result.std_reward(), how.episodes);
    Ok(policy)
}

/// What a policy for Pendulum-v1 expects of three states: upright, sideways and hanging, all at rest.
#[allow(dead_code, reason = "only the examples on Pendulum use it")]
pub fn show_pendulum_values(policy: &mut TrainedPolicy) {
    let states: [(&str, [f32; 3]); 3] =
        [("upright", [1.0, 0.0, 0.0]), ("sideways", [0.0, 1.0, 0.0]), ("hanging", [-1.0, 0.0, 0.0])];
    for (name, state) in states {
        let mut value = [0.0];
        policy.agent.values(ObsRef::F32(&state), &[], 1, &mut value);
        println!("value       {:7.1} when {name}", value[0]);
    }
}
