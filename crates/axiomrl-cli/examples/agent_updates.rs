//! Times the updates of a whole agent, as the training loop asks for them: drawing from the store is part of it.
//!
//! ```text
//! cargo run --release --example agent_updates -- sac/pendulum --set algo_kwargs.batch_size=512 --threads 2 --json
//! ```
//!
//! The environment is stepped until the agent learns; then its updates are timed in rounds, and the fastest round counts. One that
//! learns from recorded transitions needs no steps. With `--pieces` what is timed is the work between updates, a gradient step of a
//! model each.

use axiomrl_algos::{Clock, Need};
use axiomrl_core::Metrics;
use axiomrl_envs::ActionMap;
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::configs;
use axiomrl_run::memory::Purpose;
use clap::Parser;
use serde_json::json;
use std::error::Error;
use std::time::{Duration, Instant};

/// How long updates are timed together: as long as in the other benchmarks.
const ROUND: Duration = Duration::from_millis(50);

#[derive(Parser)]
struct Options {
    /// A packaged config or the path of a run file
    source: String,
    /// Changes a setting, e.g. algo_kwargs.batch_size=512
    #[arg(long)]
    set: Vec<String>,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Rounds that are timed
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Updates that are not alike, one after the other: a round has all of them equally often
    #[arg(long, default_value_t = 1)]
    together: u32,
    /// Counts pieces of work that are no updates of the policy, a model's gradient steps, and nothing else
    #[arg(long)]
    pieces: bool,
    /// What the figure is called
    #[arg(long)]
    work: Option<String>,
    /// One line for programs
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let (update, together) = axiomrl_nn::with_threads(options.threads, || fastest(&options))?;
    let microseconds = update.as_secs_f64() * 1e6;
    let work = options.work.unwrap_or(options.source);
    if options.json {
        let (variant, unit) = ("ours", "us");
        let line =
            json!({"work": work, "variant": variant, "threads": options.threads, "value": microseconds, "unit": unit});
        println!("{line}");
    } else {
        println!("{work}: {microseconds:.1} us per update, mean of {together}, {} threads", options.threads);
    }
    Ok(())
}

/// Mean time of an update in the fastest round, and the updates of that round.
fn fastest(options: &Options) -> Result<(Duration, u32), Box<dyn Error>> {
    let mut experiment = configs::read(&Catalogue::builtin(), &options.source, &options.set)?;
    experiment.load_prior()?;
    let mut env = experiment.training_env()?;
    let mut agent = experiment.agent(env.as_ref(), Purpose::Train)?;
    let map = ActionMap::of(&env.spaces().action)?;
    let envs = env.num_envs();
    let mut actions = vec![0.0; envs * env.spaces().action.width()];
    let (mut executed, mut metrics) = (actions.clone(), Metrics::default());
    let mut clock = Clock { total: experiment.config.total_timesteps, ..Clock::default() };
    let phases = agent.phases(clock.total);
    env.reset(None)?;
    agent.restarted(0..envs, env.state())?;
    let mut round = || -> Result<(Duration, u32), Box<dyn Error>> {
        let (mut spent, mut updates) = (Duration::ZERO, 0u32);
        while spent < ROUND || updates == 0 || !updates.is_multiple_of(options.together) {
            let begun = Instant::now();
            if agent.need(clock) == Need::Update {
                let made = agent.update(clock, &mut metrics)?;
                spent += begun.elapsed();
                clock.updates += made;
                clock.at = clock.env_steps + clock.updates.min(phases.updates);
                if options.pieces && made > 0 {
                    return Err("an update of the policy came between the pieces: the model has been fitted".into());
                }
                updates += if options.pieces { 1 } else { u32::try_from(made)? };
                continue;
            }
            if phases.steps == 0 {
                return Err("all updates are made, and no steps are to be taken; raise total_timesteps".into());
            }
            agent.act(env.state(), clock, &mut actions)?;
            map.to_env(&actions, &mut executed);
            env.step(0..envs, &executed)?;
            agent.observe(0..envs, &actions, env.state())?;
            clock.env_steps += envs as u64;
            clock.at = clock.env_steps;
        }
        Ok((spent / updates, updates))
    };
    // A first one to warm up.
    round()?;
    let mut best = round()?;
    for _ in 1..options.rounds {
        best = best.min(round()?);
    }
    Ok(best)
}
