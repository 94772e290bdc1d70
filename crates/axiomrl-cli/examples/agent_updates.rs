//! Times the updates of a whole agent, as the training loop asks for them: drawing from the store is part of it.
//!
//! ```text
//! cargo run --release --example agent_updates -- sac/pendulum --set algo_kwargs.batch_size=512 --threads 2 --json
//! ```
//!
//! The environment is stepped until the agent learns; then every step's updates are timed, and the fastest of them counts.

use axiomrl_algos::Progress;
use axiomrl_run::configs;
use axiomrl_run::session::{build_agent, training_env};
use clap::Parser;
use serde_json::json;
use std::error::Error;
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Options {
    /// A packaged config or the path of a run file
    source: String,
    /// Changes a setting, e.g. algo_kwargs.batch_size=512
    #[arg(long)]
    set: Vec<String>,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Steps with updates that are timed
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// What the figure is called
    #[arg(long)]
    work: Option<String>,
    /// One line for programs
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    // Errors of a run cannot be handed from one thread to another as they are.
    let (update, per_round) = pool.install(|| fastest(&options).map_err(|error| error.to_string()))?;
    let microseconds = update.as_secs_f64() * 1e6;
    let work = options.work.unwrap_or(options.source);
    if options.json {
        let (variant, unit) = ("ours", "us");
        let line =
            json!({"work": work, "variant": variant, "threads": options.threads, "value": microseconds, "unit": unit});
        println!("{line}");
    } else {
        println!("{work}: {microseconds:.1} us per update, {per_round} at a time, {} threads", options.threads);
    }
    Ok(())
}

/// Time of an update in the fastest round, and the updates of that round.
fn fastest(options: &Options) -> Result<(Duration, u32), Box<dyn Error>> {
    let config = configs::read(&options.source, &options.set)?;
    let mut env = training_env(&config)?;
    let mut agent = build_agent(&config, env.as_ref())?;
    let envs = env.num_envs();
    let mut actions = vec![0.0; envs * env.action_space().width()];
    let (mut best, mut rounds) = (None::<(Duration, u32)>, 0);
    let mut progress = Progress { steps: 0, total: config.total_timesteps };
    while rounds < options.rounds {
        agent.act(env.state(), progress, &mut actions);
        env.step(0..envs, &actions);
        agent.observe(0..envs, &actions, env.state());
        progress.steps += envs as u64;
        let before = agent.updates();
        let begun = Instant::now();
        agent.learn(env.state(), progress)?;
        let spent = begun.elapsed();
        let done = u32::try_from(agent.updates() - before)?;
        if done > 0 {
            rounds += 1;
            let round = (spent / done, done);
            best = Some(best.map_or(round, |best| best.min(round)));
        }
    }
    best.ok_or_else(|| "no update was made: ask for one round at least".into())
}
