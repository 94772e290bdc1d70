//! `docs/algorithms.md`: the field by year, with what is here and what is not. A test of `axiomrl-cli` includes this file
//! to see that the page is not stale.

use super::shown::shown;
use serde_json::Value;
use std::collections::BTreeMap;

const HEAD: &str = "# Algorithms by year

Written by `cargo xtask docs` from `docs/sourcebook.csv`, the registry and `benchmarks/learn.json`. What the words mean:

- **implemented**: with its essential parts; `axiomrl explain <name>` is its page. The test seeds that met the mark follow, or those that settings were
  tuned by.
- **narrow**: implemented, and lacks what the note says.
- **planned**: not here yet.
- **watchlist**: not here, and not planned before others ask for it.
";

/// The page, or what is wrong with the list.
pub fn page(list: &str, algorithms: &Value, runs: &Value) -> Result<String, String> {
    let summaries: BTreeMap<&str, &str> = algorithms
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some((entry["name"].as_str()?, entry["summary"].as_str()?)))
        .collect();
    let mut seen = Vec::new();
    let mut text = HEAD.to_owned();
    let mut year = "";
    for (number, line) in list.lines().enumerate().skip(1) {
        let bad = |problem: &str| format!("docs/sourcebook.csv, line {}: {problem}", number + 1);
        let fields: Vec<&str> = line.splitn(5, ',').collect();
        let [in_year, name, algorithm, source, note] = fields[..] else { return Err(bad("five fields are needed")) };
        if in_year < year {
            return Err(bad("years must not go back"));
        }
        if in_year != year {
            year = in_year;
            text.push_str(&format!("\n## {year}\n\n| algorithm | name here | status | source |\n|---|---|---|---|\n"));
        }
        let here = summaries.contains_key(name);
        let status = match note {
            "planned" | "watchlist" if here => return Err(bad(&format!("`{name}` is in the registry by now"))),
            "planned" | "watchlist" => note.to_owned(),
            _ if here => {
                seen.push(name);
                let shown = shown(name, runs).join(", ");
                let word = if note.is_empty() { "implemented".to_owned() } else { note.to_owned() };
                if shown.is_empty() { word } else { format!("{word}; {shown}") }
            }
            "" => return Err(bad("neither in the registry nor with a status")),
            _ if name.is_empty() => note.to_owned(),
            _ => return Err(bad(&format!("`{name}` is not in the registry"))),
        };
        let name = if here { format!("`{name}`") } else { name.to_owned() };
        text.push_str(&format!("| {algorithm} | {name} | {status} | {source} |\n"));
    }
    match summaries.keys().find(|name| !seen.contains(name)) {
        Some(missing) => Err(format!("docs/sourcebook.csv says nothing of `{missing}`: add a line")),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_registered_name_has_a_line_and_every_line_a_status() {
        let algorithms = json!([{"name": "dqn", "summary": "Deep Q-learning"}]);
        let runs = json!([{"algo": "dqn", "env_id": "CartPole-v1", "seed": 100_000, "passed": true, "control": null}]);
        let list = |rows: &str| format!("year,name,algorithm,source,note\n{rows}");
        let page = |rows: &str| page(&list(rows), &algorithms, &runs);
        let dqn = "2015,dqn,Deep Q-learning,Mnih,\n";
        let good = page(&format!("{dqn}2019,muzero,MuZero,Schrittwieser,planned\n")).unwrap();
        assert!(good.contains("| Deep Q-learning | `dqn` | implemented; CartPole-v1 1/1 | Mnih |"), "{good}");
        assert!(good.contains("| MuZero | muzero | planned | Schrittwieser |"), "{good}");
        assert!(page("").unwrap_err().contains("`dqn`"));
        assert!(page("2015,dqn,Deep Q-learning,Mnih,planned\n").unwrap_err().contains("by now"));
        assert!(page(&format!("{dqn}2019,muzero,MuZero,S,\n")).unwrap_err().contains("line 3"));
        assert!(page(&format!("{dqn}2014,x,X,Y,planned\n")).unwrap_err().contains("go back"));
    }
}
