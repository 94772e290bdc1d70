//! Training without a run file: an algorithm, an environment, and settings that follow from its spaces.

use crate::catalogue;
use crate::commands::algorithm;
use crate::failure::Failure;
use axiomrl_algos::AlgoEntry;
use axiomrl_envs::{Space, Spaces};
use axiomrl_run::configs::ConfigsError;
use axiomrl_run::experiment::Experiment;
use std::io::Write;

/// Steps to train for, unless something else is asked for: enough to see a simple task learned, and pixels begun.
const STEPS: u64 = 100_000;
const STEPS_FROM_PIXELS: u64 = 1_000_000;

/// Reads the run file that an algorithm and an environment amount to, and shows it.
pub fn read(algo: &str, env: &str, assignments: &[String], quiet: bool) -> Result<Experiment, Failure> {
    let entry = algorithm(algo)?;
    let name = format!("{algo} --env {env}");
    let read = |text: &str| catalogue().read(text, &name, assignments).map_err(ConfigsError::from);
    // Once to learn what the environment shows, with whatever options it is given, and once with what follows from that.
    let plain = text(entry.name, env, &[("total_timesteps", STEPS.to_string())]);
    let spaces = read(&plain)?.environments.spaces()?;
    let text = text(entry.name, env, &choices(entry, env, &spaces));
    let experiment = read(&text)?;
    if !quiet {
        let settings: String = assignments.iter().map(|assignment| format!("# --set {assignment}\n")).collect();
        // Nobody may be listening.
        let _ = writeln!(std::io::stderr(), "# The run file that this amounts to:\n{text}{settings}");
    }
    Ok(experiment)
}

fn text(algo: &str, env: &str, settings: &[(&str, String)]) -> String {
    let name = serde_json::Value::from(env);
    let lines: String = settings.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    format!("algo: {algo}\nenv_id: {name}\n{lines}")
}

/// Settings that follow from what an environment shows.
fn choices(entry: &AlgoEntry, env: &str, spaces: &Spaces) -> Vec<(&'static str, String)> {
    let pixels = spaces.obs().widths.bytes > 0;
    let mut chosen = vec![("total_timesteps", if pixels { STEPS_FROM_PIXELS } else { STEPS }.to_string())];
    let settings = entry.defaults();
    // Learners of rollouts want several environments; a replay buffer fills from one.
    if settings.get("num_steps").is_some() {
        chosen.push(("num_envs", "8".to_owned()));
    }
    // A single frame of Atari shows no motion.
    if env.contains("ALE/") && pixels {
        chosen.push(("frame_stack", "4".to_owned()));
    }
    if !entry.wants_data(&settings) && is_unscaled(&spaces.observation) {
        chosen.push(("normalize_observation", "true".to_owned()));
    }
    chosen
}

/// A vector of numbers whose scale nobody vouches for.
fn is_unscaled(space: &Space) -> bool {
    matches!(space, Space::Box(space) if space.dtype == axiomrl_envs::DType::F32 && !space.is_bounded())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::BoxSpace;

    fn chosen(algo: &str, env: &str, observation: BoxSpace) -> Vec<String> {
        let spaces = Spaces::new(Space::Box(observation), Space::Discrete { n: 2 });
        let choices = choices(algorithm(algo).unwrap(), env, &spaces);
        choices.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[test]
    fn settings_follow_from_what_is_seen_and_who_learns() {
        let vector = || BoxSpace::uniform(3, -1.0, 1.0);
        assert_eq!(chosen("dqn", "X-v0", vector()), ["total_timesteps=100000"]);
        assert_eq!(chosen("ppo", "X-v0", vector()), ["total_timesteps=100000", "num_envs=8"]);
        let unbounded = BoxSpace::uniform(3, f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(chosen("dqn", "X-v0", unbounded), ["total_timesteps=100000", "normalize_observation=true"]);
        let atari = chosen("dqn", "ALE/Pong-v5", BoxSpace::image(84, 84, 1));
        assert_eq!(atari, ["total_timesteps=1000000", "frame_stack=4"]);
    }
}
