//! What has been shown of an algorithm. A test of `axiomrl-cli` includes this file, too.

use serde_json::Value;

/// Seeds from here on follow from the name of a config; those below are for tuning.
pub const FIRST_TEST_SEED: u64 = 100_000;

/// How the runs on one environment came out.
struct Task<'a> {
    env: &'a str,
    tests: (usize, usize),
    tuning: (usize, usize),
}

/// For each environment that the algorithm was run on: how many of the test seeds met the mark; where there are none yet, how
/// many of the seeds that settings were chosen by, and that they are such. Controls do not count.
pub fn shown(algorithm: &str, runs: &Value) -> Vec<String> {
    let mut found: Vec<Task<'_>> = Vec::new();
    for run in runs.as_array().into_iter().flatten().filter(|run| run["algo"] == algorithm && run["control"].is_null())
    {
        let env = run["env_id"].as_str().unwrap_or_default();
        let at = found.iter().position(|task| task.env == env).unwrap_or_else(|| {
            found.push(Task { env, tests: (0, 0), tuning: (0, 0) });
            found.len() - 1
        });
        let task = &mut found[at];
        let is_test = run["seed"].as_u64().is_some_and(|seed| seed >= FIRST_TEST_SEED);
        let (met, all) = if is_test { &mut task.tests } else { &mut task.tuning };
        *met += usize::from(run["passed"] == true);
        *all += 1;
    }
    let word = |task: &Task<'_>| match task.tests {
        (_, 0) => format!("{} ({}/{} while tuning)", task.env, task.tuning.0, task.tuning.1),
        (met, all) => format!("{} {met}/{all}", task.env),
    };
    found.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn test_seeds_count_and_tuning_seeds_only_where_there_are_no_others() {
        let run = |env: &str, seed: u64, passed: bool, control: Value| json!({"algo": "dqn", "env_id": env, "seed": seed, "passed": passed, "control": control});
        let runs = json!([
            run("CartPole-v1", 1, true, Value::Null),
            run("CartPole-v1", 100_000, true, Value::Null),
            run("CartPole-v1", 123_456, false, Value::Null),
            run("CartPole-v1", 123_457, false, json!("learning_rate_0")),
            run("Acrobot-v1", 1, true, Value::Null),
            run("Acrobot-v1", 99_999, false, Value::Null),
        ]);
        assert_eq!(shown("dqn", &runs), ["CartPole-v1 1/2", "Acrobot-v1 (1/2 while tuning)"]);
        assert!(shown("ppo", &runs).is_empty());
    }
}
