//! A work that both sides do, and how its settings are handed over.

use super::works::WORKS;
use anyhow::{Result, bail};
use serde_json::{Map, Value};

pub struct Work {
    pub id: &'static str,
    pub title: &'static str,
    pub algo: &'static str,
    /// Gymnasium's name, which is ours too but for what is hidden.
    pub env: &'static str,
    /// Ours, and the places of the observation that it shows.
    pub masked: Option<(&'static str, &'static [usize])>,
    pub envs: usize,
    pub steps: u64,
    /// Running statistics of observations and rewards: their `VecNormalize`, our `normalize_observation` and `normalize_reward`.
    pub normalize: bool,
    pub settings: &'static [Setting],
    /// Where the settings are not quite the zoo's.
    pub note: &'static str,
}

/// One value under two names. An empty name: that side has no such setting and always does it so.
pub struct Setting {
    pub theirs: &'static str,
    pub ours: &'static str,
    /// JSON, which is YAML too.
    pub value: &'static str,
}

pub const fn both(theirs: &'static str, ours: &'static str, value: &'static str) -> Setting {
    Setting { theirs, ours, value }
}

pub const fn same(name: &'static str, value: &'static str) -> Setting {
    Setting { theirs: name, ours: name, value }
}

/// What most works have in common.
pub const fn work(id: &'static str, title: &'static str, algo: &'static str, env: &'static str) -> Work {
    Work { id, title, algo, env, masked: None, envs: 1, steps: 20_000, normalize: false, settings: &[], note: "" }
}

impl Work {
    /// Whether our side plays in Gymnasium's worker processes.
    pub fn is_foreign(&self) -> bool {
        self.env.starts_with("LunarLander")
    }

    /// The settings as keywords of the other side; `policy_kwargs` within.
    pub fn keywords(&self) -> Result<Value> {
        let (mut keywords, mut policy) = (Map::new(), Map::new());
        for setting in self.settings.iter().filter(|setting| !setting.theirs.is_empty()) {
            let value = serde_json::from_str(setting.value)?;
            match setting.theirs.strip_prefix("policy_kwargs.") {
                Some(key) => policy.insert(key.to_owned(), value),
                None => keywords.insert(setting.theirs.to_owned(), value),
            };
        }
        keywords.insert("policy_kwargs".to_owned(), policy.into());
        Ok(keywords.into())
    }
}

/// The works of these names, or all.
pub fn named(names: &[String]) -> Result<Vec<&'static Work>> {
    if let Some(name) = names.iter().find(|name| WORKS.iter().all(|work| work.id != name.as_str())) {
        let all: Vec<&str> = WORKS.iter().map(|work| work.id).collect();
        bail!("no work is called `{name}`; there are {}", all.join(", "));
    }
    Ok(WORKS.iter().filter(|work| names.is_empty() || names.iter().any(|name| name == work.id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_value_is_json_and_no_name_comes_twice() {
        for work in WORKS {
            work.keywords().unwrap();
            for side in [|setting: &Setting| setting.theirs, |setting: &Setting| setting.ours] {
                let mut names: Vec<&str> = work.settings.iter().map(side).filter(|name| !name.is_empty()).collect();
                names.sort_unstable();
                assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}: {names:?}", work.id);
            }
        }
    }

    #[test]
    fn keywords_of_the_policy_are_in_a_place_of_their_own() {
        let work = named(&["ddpg_pendulum".to_owned()]).unwrap()[0];
        let keywords = work.keywords().unwrap();
        assert_eq!(keywords["policy_kwargs"]["net_arch"], json!([400, 300]));
        assert_eq!((&keywords["gamma"], keywords.get("critic_loss_coef")), (&json!(0.98), None));
    }

    #[test]
    fn an_unknown_work_is_refused_with_those_there_are() {
        let error = named(&["dqn_pong".to_owned()]).err().expect("no such work").to_string();
        assert!(error.contains("`dqn_pong`") && error.contains("dqn_cartpole, ppo_cartpole"), "{error}");
        assert_eq!(named(&[]).unwrap().len(), WORKS.len());
    }
}
