//! Run files: the packaged ones by name, the user's own by path.

use axiomrl_algos::config::{ConfigError, algo_name};
use axiomrl_algos::{AlgoEntry, RunConfig, find, names};
use axiomrl_envs::registry;
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A run file that comes with the program.
pub struct Packaged {
    /// `<algo>/<env>`, as users write it.
    pub name: &'static str,
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/packaged_configs.rs"));

/// Why a run file cannot be used. All of it is bad input: nothing has been done yet.
#[derive(Debug, thiserror::Error)]
pub enum ConfigsError {
    #[error("there is no file {name}, and no packaged config of that name; `axiomrl configs` lists them{hint}")]
    Unknown { name: String, hint: String },
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is a folder; give a run file (YAML) or the name of a packaged config", .path.display())]
    Folder { path: PathBuf },
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Every packaged run file, by name.
pub fn list() -> &'static [Packaged] {
    PACKAGED
}

impl Packaged {
    /// The comment the file opens with.
    pub fn summary(&self) -> &'static str {
        self.text.lines().next().and_then(|line| line.strip_prefix('#')).map_or("", str::trim)
    }
}

/// The text of a run file and the name to use for it in messages. A file on disk comes before a packaged one.
pub fn load(name_or_path: &str) -> Result<(String, String), ConfigsError> {
    let path = Path::new(name_or_path);
    // Not `is_file`: a pipe or standard input can hold a run file as well.
    if path.exists() && !path.is_dir() {
        let text = fs::read_to_string(path).map_err(|source| ConfigsError::Read { path: path.into(), source })?;
        return Ok((text, name_or_path.to_owned()));
    }
    let name = packaged_name(name_or_path);
    if let Some(found) = PACKAGED.iter().find(|packaged| packaged.name == name) {
        return Ok((found.text.to_owned(), format!("configs/{}.yaml", found.name)));
    }
    if path.is_dir() {
        return Err(ConfigsError::Folder { path: path.into() });
    }
    let known: Vec<&str> = PACKAGED.iter().map(|packaged| packaged.name).collect();
    // The message names the command that lists them: too many to list here.
    let hint = near(name, &known).map_or(String::new(), did_you_mean);
    Err(ConfigsError::Unknown { name: name_or_path.to_owned(), hint })
}

/// Reads a run file whole: every default filled in, `assignments` (`key=value`) applied, every name known.
pub fn read(name_or_path: &str, assignments: &[String]) -> Result<RunConfig, ConfigsError> {
    let (text, source_name) = load(name_or_path)?;
    Ok(read_text(&text, &source_name, assignments)?)
}

fn read_text(text: &str, source_name: &str, assignments: &[String]) -> Result<RunConfig, ConfigError> {
    let config = algorithm(text, source_name, assignments)?.read(text, source_name, assignments)?;
    if let Err(error) = registry::info(&config.env_id) {
        let message = error.to_string();
        return Err(match last_assignment("env_id", assignments) {
            Some((assignment, _)) => ConfigError::Override { assignment, message },
            None => at_value(text, source_name, "env_id", message, String::new()),
        });
    }
    Ok(config)
}

/// The algorithm a run file asks for, or the assignment that replaces it.
fn algorithm(text: &str, source_name: &str, assignments: &[String]) -> Result<&'static AlgoEntry, ConfigError> {
    let unknown = |name: &str| format!("unknown algorithm `{name}`");
    if let Some((assignment, name)) = last_assignment("algo", assignments) {
        let message = unknown(&name) + &nearest(&name, &names());
        return find(&name).ok_or(ConfigError::Override { assignment, message });
    }
    let name = algo_name(text, source_name)?;
    find(&name).ok_or_else(|| at_value(text, source_name, "algo", unknown(&name), nearest(&name, &names())))
}

/// The last `key=value` for this key, whole and its value.
fn last_assignment(key: &str, assignments: &[String]) -> Option<(String, String)> {
    let value =
        |text: &String| Some((text.clone(), text.split_once('=').filter(|(k, _)| k.trim() == key)?.1.trim().into()));
    assignments.iter().rev().find_map(value)
}

/// Where the two names stand in the file.
#[derive(Deserialize)]
struct Places {
    algo: Spanned<String>,
    env_id: Option<Spanned<String>>,
}

/// An error at the value of `key`, as exact as a mistake the reader itself finds.
fn at_value(text: &str, source_name: &str, key: &str, message: String, hint: String) -> ConfigError {
    let source_name = source_name.to_owned();
    let place = serde_saphyr::from_str::<Places>(text).ok().and_then(|places| {
        let value = if key == "algo" { Some(places.algo) } else { places.env_id };
        value.map(|found| (found.referenced.line(), found.referenced.column()))
    });
    let Some((line, column)) = place else { return ConfigError::Whole { source_name, message, hint } };
    let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let snippet = text.lines().nth(index).unwrap_or("").to_owned();
    ConfigError::At { source_name, line, column, message, snippet, hint }
}

/// `configs/ppo/cartpole.yaml` and `ppo/cartpole` mean the same.
fn packaged_name(written: &str) -> &str {
    let name = written.strip_prefix("./").unwrap_or(written);
    let name = name.strip_prefix("configs/").unwrap_or(name);
    name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
}

/// The known name that may have been meant.
fn near<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let similarity = |name: &str| strsim::jaro_winkler(&written.to_lowercase(), name);
    let best = known.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    best.copied().filter(|best| similarity(best) > 0.75)
}

fn did_you_mean(name: &str) -> String {
    format!("; did you mean `{name}`?")
}

/// The nearest known name as the end of a message, or all of them when nothing is near.
fn nearest(written: &str, known: &[&str]) -> String {
    near(written, known).map_or_else(|| format!("; known: {}", known.join(", ")), did_you_mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packaged_file_reads_and_sits_where_its_content_belongs() {
        assert!(list().len() >= 7);
        for packaged in list() {
            let config = read(packaged.name, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(packaged.name.split('/').next(), Some(config.algo.as_str()));
            assert!(!packaged.summary().is_empty(), "{} opens with a comment", packaged.name);
        }
    }

    #[test]
    fn all_spellings_of_a_packaged_name_work() {
        let expected = load("ppo/cartpole").unwrap();
        for name in ["ppo/cartpole.yaml", "configs/ppo/cartpole.yaml", "./configs/ppo/cartpole.yml"] {
            assert_eq!(load(name).unwrap(), expected);
        }
    }

    #[test]
    fn a_file_on_disk_is_read_and_named_by_its_path() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("mine.yaml");
        fs::write(&path, "algo: sac\nenv_id: Pendulum-v1\ntotal_timesteps: 7\n").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(load(path).unwrap().1, path);
        let config = read(path, &["total_timesteps=9".to_owned()]).unwrap();
        assert_eq!((config.algo.as_str(), config.total_timesteps), ("sac", 9));
        assert!(read(root.path().to_str().unwrap(), &[]).unwrap_err().to_string().contains("is a folder"));
    }

    #[test]
    fn unknown_names_come_with_the_nearest_one_and_their_place() {
        let error = |text: &str, set: &[String]| read_text(text, "x.yaml", set).unwrap_err().to_string();
        assert!(load("ppo/cartpol").unwrap_err().to_string().contains("did you mean `ppo/cartpole`?"));
        let algo = error("# mine\nalgo:  ppoo\nenv_id: CartPole-v1\ntotal_timesteps: 1\n", &[]);
        assert!(algo.starts_with("x.yaml:2:8: unknown algorithm `ppoo`"), "{algo}");
        assert!(algo.contains("did you mean `ppo`?"), "{algo}");
        let sound = "algo: ppo\nenv_id: CartPole-v1\ntotal_timesteps: 1\n";
        let env = error(&sound.replace("CartPole", "CartPol"), &[]);
        assert!(env.starts_with("x.yaml:2:9: unknown environment `CartPol-v1`"), "{env}");
        assert!(env.contains("CartPole-v1"), "{env}");
        assert!(error(sound, &["env_id=Nowhere-v9".into()]).contains("--set env_id=Nowhere-v9"));
        assert!(error(sound, &["algo=pp".into()]).contains("--set algo=pp"));
    }

    #[test]
    fn an_assigned_algorithm_decides_how_the_file_is_read() {
        let text = "algo: ppo\nenv_id: CartPole-v1\ntotal_timesteps: 1\n";
        let config = read_text(text, "x.yaml", &["algo=dqn".into()]).unwrap();
        assert_eq!(config.algo, "dqn");
        assert!(config.algo_kwargs.0.get("double_q").is_some());
    }
}
