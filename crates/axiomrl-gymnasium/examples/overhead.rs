//! What a step costs beyond the environment's own time: CartPole in a worker process against the same loop within one Python.
//!
//! `cargo run --release -p axiomrl-gymnasium --example overhead [environments] [steps]`

use axiomrl_envs::{Purpose, Seeding, Wrapping};
use axiomrl_gymnasium::{GymResolver, executable};
use axiomrl_run::catalogue::EnvFactory;
use serde_json::Map;
use std::process::Command;
use std::time::Instant;

/// The same episodes without anything round them.
const PLAIN: &str = r#"
import sys, time
import gymnasium
n, steps = int(sys.argv[1]), int(sys.argv[2])
envs = [gymnasium.make("CartPole-v1", disable_env_checker=True) for _ in range(n)]
for i, env in enumerate(envs):
    env.reset(seed=i)
begun = time.perf_counter()
for t in range(steps):
    for env in envs:
        _, _, terminated, truncated, _ = env.step(t & 1)
        if terminated or truncated:
            env.reset()
print(time.perf_counter() - begun)
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let n = numbers.next().transpose()?.unwrap_or(8);
    let steps = numbers.next().transpose()?.unwrap_or(20_000);
    let source = GymResolver::default().source("CartPole-v1", &Map::new(), Wrapping::default())?;
    let mut envs = source.make(n, &Seeding::new(0, "env"), Purpose::Training)?;
    envs.reset(None)?;
    // In turns, so that whatever else the machine does falls on both.
    for round in 1..=3 {
        let begun = Instant::now();
        for t in 0..steps {
            envs.step(0..n, &vec![(t & 1) as f32; n])?;
        }
        let ours = begun.elapsed().as_secs_f64();
        let plain = Command::new(executable(None)).args(["-c", PLAIN, &n.to_string(), &steps.to_string()]).output()?;
        let theirs: f64 = String::from_utf8(plain.stdout)?.trim().parse()?;
        let micros = |seconds: f64| 1e6 * seconds / (n * steps) as f64;
        println!(
            "round {round}: {:.2} us per environment step, {:.2} of them the environment's own, {:.2} ours",
            micros(ours),
            micros(theirs),
            micros(ours - theirs)
        );
    }
    Ok(())
}
