//! Run files: the packaged ones by name, the user's own by path.

use crate::catalogue::Catalogue;
use crate::experiment::Experiment;
use axiomrl_algos::config::ConfigError;
use axiomrl_envs::names::{did_you_mean, nearest};
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
    /// What stands behind a key of the file itself, such as `env_id`: a list of files must not need what they would run in.
    pub fn value_of(&self, key: &str) -> &'static str {
        let found = self.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        found.map_or("", str::trim)
    }

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
    let hint = nearest(name, &known).map_or(String::new(), did_you_mean);
    Err(ConfigsError::Unknown { name: name_or_path.to_owned(), hint })
}

/// Reads a run file whole: every default filled in, `assignments` (`key=value`) applied, and all of it refused that training
/// would refuse.
pub fn read(catalogue: &Catalogue, name_or_path: &str, assignments: &[String]) -> Result<Experiment, ConfigsError> {
    let (text, source_name) = load(name_or_path)?;
    Ok(catalogue.read(&text, &source_name, assignments)?)
}

/// `configs/ppo/cartpole.yaml` and `ppo/cartpole` mean the same.
fn packaged_name(written: &str) -> &str {
    let name = written.strip_prefix("./").unwrap_or(written);
    let name = name.strip_prefix("configs/").unwrap_or(name);
    name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::catalogue::{Catalogue, EnvFactory, EnvResolver};
    use axiomrl_envs::{EnvError, EnvSource, Wrapping, registry};
    use serde_json::{Map, Value, json};
    use std::sync::Arc;

    struct Games;

    impl EnvResolver for Games {
        fn resolve(&self, name: &str) -> Option<Arc<dyn EnvFactory>> {
            name.starts_with("ALE/").then(|| Arc::new(Games) as _)
        }
    }

    impl EnvFactory for Games {
        fn source(
            &self,
            _name: &str,
            _kwargs: &Map<String, Value>,
            wrapping: Wrapping,
        ) -> Result<Arc<dyn EnvSource>, EnvError> {
            let kwargs: Map<String, Value> = [("size".to_owned(), json!(64))].into_iter().collect();
            registry::source("CartPolePixels-v0", &kwargs, wrapping)
        }
    }

    /// Everything that packaged files name. Atari's games are in Python: another task of images and choices stands for them.
    pub fn with_games() -> Catalogue {
        let mut catalogue = Catalogue::builtin();
        catalogue.resolver(Games);
        catalogue
    }
}

#[cfg(test)]
mod tests {
    use super::testing::with_games;
    use super::*;

    #[test]
    fn every_packaged_file_reads_and_sits_where_its_content_belongs() {
        assert!(list().len() >= 7);
        for packaged in list() {
            let config = read(&with_games(), packaged.name, &[]).unwrap_or_else(|error| panic!("{error}")).config;
            assert_eq!(packaged.value_of("algo"), config.algo);
            assert_eq!(packaged.value_of("env_id"), config.env_id);
            assert_eq!(packaged.value_of("total_timesteps").parse(), Ok(config.total_timesteps));
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
        let config = read(&Catalogue::builtin(), path, &["total_timesteps=9".to_owned()]).unwrap().config;
        assert_eq!((config.algo.as_str(), config.total_timesteps), ("sac", 9));
        let folder = read(&Catalogue::builtin(), root.path().to_str().unwrap(), &[]);
        assert!(folder.err().unwrap().to_string().contains("is a folder"));
    }

    #[test]
    fn unknown_names_come_with_the_nearest_one_and_their_place() {
        let error =
            |text: &str, set: &[String]| Catalogue::builtin().read(text, "x.yaml", set).err().unwrap().to_string();
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
        let config = Catalogue::builtin().read(text, "x.yaml", &["algo=dqn".into()]).unwrap().config;
        assert_eq!(config.algo, "dqn");
        assert!(config.algo_kwargs.0.get("double_q").is_some());
    }
}
