//! The other libraries: where they come from and how they are run.

use super::figures::Figure;
use super::results::Missing;
use super::venv::Venv;
use super::works::{OurSide, Work};
use super::{Options, peer_names};
use crate::shell::root;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of 0.05 s within one turn, theirs and ours; the best counts. Both have the same chance to meet an undisturbed moment.
pub const UPDATE_ROUNDS: u32 = 40;
/// Whole runs are long enough to be timed once.
const RUN_ROUNDS: u32 = 1;

pub struct Peer {
    pub name: &'static str,
    script: &'static str,
    /// Peers with the same first file share a virtual environment; the other files are added to it one by one.
    requirements: &'static [&'static str],
    pub works: &'static [&'static str],
}

const LOOPS: &[&str] = &["ppo_cartpole", "dqn_cartpole", "sac_pendulum"];

#[rustfmt::skip]
pub const PEERS: &[Peer] = &[
    Peer {
        name: "torch", script: "torch_peer.py", requirements: &["requirements-torch.txt"],
        works: &[
            "dqn_update", "ppo_minibatch", "sac_update", "td3_update", "nature_cnn", "lstm", "policy_inference", "drqv2_update",
            "mbpo_model",
        ],
    },
    Peer {
        name: "jax", script: "jax_peer.py", requirements: &["requirements-torch.txt"],
        works: &["dqn_update", "ppo_minibatch", "sac_update"],
    },
    Peer {
        name: "d3rlpy", script: "d3rlpy_peer.py", requirements: &["requirements-d3rlpy.txt"],
        works: &["iql_update", "cql_update", "td3_bc_update"],
    },
    Peer {
        name: "sb3", script: "sb3_peer.py", requirements: &["requirements-torch.txt"],
        works: &["ppo_cartpole", "dqn_cartpole", "sac_pendulum", "a2c_cartpole"],
    },
    Peer {
        name: "sb3-contrib", script: "sb3_contrib_peer.py", requirements: &["requirements-torch.txt"],
        works: &["trpo_cartpole", "ars_pendulum"],
    },
    Peer { name: "sbx", script: "sbx_peer.py", requirements: &["requirements-torch.txt"], works: LOOPS },
    Peer {
        name: "rlox", script: "rlox_peer.py", requirements: &["requirements-torch.txt", "requirements-rlox.txt"], works: LOOPS,
    },
    Peer {
        name: "axiomrl-python", script: "axiomrl_peer.py",
        requirements: &["requirements-torch.txt", "requirements-axiomrl.txt"], works: LOOPS,
    },
    Peer {
        name: "rejax", script: "rejax_peer.py", requirements: &["requirements-rejax.txt"],
        works: &["ppo_cartpole", "ppo_cartpole_64", "dqn_cartpole", "sac_pendulum_64"],
    },
];

/// A peer that is installed.
pub struct ReadyPeer {
    pub peer: &'static Peer,
    pub versions: Vec<String>,
    venv: Venv,
}

/// Where the scripts are.
pub fn scripts() -> PathBuf {
    root().join("benchmarks/peers")
}

pub fn check_names(names: &[String]) -> Result<()> {
    match names.iter().find(|name| PEERS.iter().all(|peer| peer.name != name.as_str())) {
        Some(name) => bail!("no peer is called `{name}`; there are {}", peer_names()),
        None => Ok(()),
    }
}

/// Installs the wanted peers. One that cannot be installed is noted and passed over.
pub fn prepare(options: &Options, missing: &mut Vec<Missing>) -> Result<Vec<ReadyPeer>> {
    let wanted = |peer: &&Peer| options.only_peer.is_empty() || options.only_peer.iter().any(|only| only == peer.name);
    let mut ready = Vec::new();
    for peer in PEERS.iter().filter(wanted) {
        match install(peer, &options.python) {
            Ok(found) => ready.push(found),
            Err(error) => {
                eprintln!("{} cannot be installed: {error:#}", peer.name);
                missing.push(Missing::new(peer.name, "all", &error));
            }
        }
    }
    ensure!(!ready.is_empty(), "no peer could be installed; is `{}` there, and the network?", options.python);
    Ok(ready)
}

fn install(peer: &'static Peer, python: &str) -> Result<ReadyPeer> {
    let files: Vec<PathBuf> = peer.requirements.iter().map(|file| scripts().join(file)).collect();
    let venv = Venv::ready(python, &files)?;
    let mut versions = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        versions.extend(text.lines().filter(|line| line.contains("==")).map(|line| line.trim().to_owned()));
    }
    Ok(ReadyPeer { peer, versions, venv })
}

impl ReadyPeer {
    /// `data` is the file that the work learns from, if it does from one.
    pub fn measure(&self, work: &Work, threads: usize, data: Option<&Path>) -> Result<Vec<Figure>> {
        let rounds = match work.ours {
            OurSide::Update | OurSide::Agent(_) => UPDATE_ROUNDS,
            OurSide::Run { .. } => RUN_ROUNDS,
        };
        let mut command = Command::new(self.venv.python());
        command.arg(scripts().join(self.peer.script));
        command.args(["--work", work.id, "--threads", &threads.to_string(), "--rounds", &rounds.to_string()]);
        command.args(data.iter().flat_map(|file| [OsStr::new("--data"), file.as_os_str()]));
        command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
        let output = command.output().with_context(|| format!("cannot start {}", self.peer.script))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} ended with {}: {}", self.peer.script, output.status, last_line(&said));
        let figures = parse_lines(&output.stdout)?;
        ensure!(!figures.is_empty(), "{} measured nothing: {}", self.peer.script, last_line(&said));
        Ok(figures)
    }

    pub fn discard(&self) {
        self.venv.discard();
    }
}

/// Python says what went wrong in the last line.
pub fn last_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or("it said nothing")
}

/// Lines that are no JSON are chatter.
pub fn parse_lines(output: &[u8]) -> Result<Vec<Figure>> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).with_context(|| format!("not a figure: {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_requirements_are_there() {
        for peer in PEERS {
            let files = peer.requirements.iter().chain([&peer.script]);
            files.for_each(|file| assert!(scripts().join(file).is_file(), "{file}"));
        }
    }

    #[test]
    fn chatter_is_passed_over_and_broken_figures_are_not() {
        let good = "Using cpu\n{\"work\":\"a\",\"variant\":\"b\",\"threads\":1,\"value\":2,\"unit\":\"steps/s\"}\n";
        assert_eq!(parse_lines(good.as_bytes()).expect("one figure").len(), 1);
        assert!(parse_lines(b"{\"work\":\"a\"}\n").is_err());
    }
}
