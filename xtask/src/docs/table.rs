//! The README's table of algorithms. A test of `axiomrl-cli` includes this file to see that the README is not stale.

use super::shown::shown;
use serde_json::Value;

const BEGIN: &str = "<!-- algorithms: written by `cargo xtask docs` -->\n";
const END: &str = "<!-- end of algorithms -->\n";

/// `readme` with the table between its markers made anew, from `axiomrl algos --json` and `benchmarks/learn.json`.
pub fn insert(readme: &str, algorithms: &Value, runs: &Value) -> Result<String, String> {
    let parts = readme.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("README.md must hold the lines {BEGIN}and {END}"))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", table(algorithms, runs)))
}

fn table(algorithms: &Value, runs: &Value) -> String {
    let mut text = "| name | algorithm | action spaces | shown to learn (test seeds that met the mark) |\n".to_owned();
    text.push_str("|---|---|---|---|\n");
    for algorithm in algorithms.as_array().into_iter().flatten() {
        let word = |key: &str| algorithm[key].as_str().unwrap_or_default();
        let actions: Vec<&str> =
            algorithm["actions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let row =
            [format!("`{}`", word("name")), word("summary").to_owned(), actions.join(", "), status(word("name"), runs)];
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

fn status(algorithm: &str, runs: &Value) -> String {
    let found = shown(algorithm, runs);
    if found.is_empty() { "no recorded run yet".to_owned() } else { found.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_replaces_what_is_between_the_markers_and_nothing_else() {
        let readme = format!("above\n{BEGIN}old\n{END}below\n");
        let algorithms = json!([{"name": "dqn", "summary": "Deep Q-learning", "actions": ["Discrete"]}]);
        let run = |passed: bool, control: Value| json!({"algo": "dqn", "env_id": "CartPole-v1", "seed": 100_000, "passed": passed, "control": control});
        let runs = json!([run(true, Value::Null), run(false, Value::Null), run(false, json!("learning_rate_0"))]);
        let fresh = insert(&readme, &algorithms, &runs).unwrap();
        assert!(fresh.starts_with(&format!("above\n{BEGIN}| name |")) && fresh.ends_with(&format!("{END}below\n")));
        assert!(fresh.contains("| `dqn` | Deep Q-learning | Discrete | CartPole-v1 1/2 |\n"), "{fresh}");
        assert!(!fresh.contains("old"));
        assert_eq!(insert(&fresh, &algorithms, &runs).unwrap(), fresh, "a second time changes nothing");
    }

    #[test]
    fn a_readme_without_markers_is_refused() {
        assert!(insert("nothing here", &json!([]), &json!([])).unwrap_err().contains("end of algorithms"));
    }
}
