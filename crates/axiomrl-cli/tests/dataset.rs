//! `axiomrl dataset`: recording, describing, converting, mixing, and the ready sets.

mod common;

use common::{Ended, Workshop};
use serde_json::Value;
use std::fs;

const DQN: &str = "algo: dqn\nenv_id: CartPole-v1\ntotal_timesteps: 300\nalgo_kwargs: {hidden_sizes: [8]}\n";

/// Runs a command with Minari's datasets in the folder `sets`.
fn run(shop: &Workshop, args: &[&str]) -> Ended {
    let mut command = shop.command(&[&["dataset"], args].concat());
    Ended::of(command.env("MINARI_DATASETS_PATH", shop.path("sets")).spawn().unwrap())
}

fn succeed(shop: &Workshop, args: &[&str]) -> Ended {
    let ended = run(shop, args);
    assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
    ended
}

fn info(shop: &Workshop, what: &[&str]) -> Value {
    succeed(shop, &[&["info", "--json"], what].concat()).json_line()
}

/// Expects to be told all of `words`, with the folder as it was.
fn refused(shop: &Workshop, args: &[&str], words: &[&str]) {
    let before = shop.names();
    let ended = run(shop, args);
    assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{args:?} says nothing of `{word}`: {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty(), "{ended:?}");
    assert_eq!(shop.names(), before, "{args:?}: nothing is written");
}

#[test]
fn an_expert_is_recorded_and_described() {
    let shop = Workshop::new();
    let args = ["collect", "--scripted", "--env", "CartPole-v1", "--episodes", "3", "-o", "a.npz"];
    let said = succeed(&shop, &args).stdout;
    assert!(said.contains("a.npz") && said.contains("scripted expert in CartPole-v1"), "{said}");
    assert!(said.contains("3 (0 terminated, 3 truncated)") && said.contains("500.0 ± 0.0"), "{said}");

    let found = info(&shop, &["a.npz", "--env", "CartPole-v1"]);
    assert_eq!((&found["episodes"], &found["transitions"]), (&3.into(), &1500.into()));
    assert_eq!((&found["endings"]["terminated"], &found["endings"]["truncated"]), (&0.into(), &3.into()));
    assert_eq!((&found["returns"]["mean"], &found["lengths"]["max"]), (&500.0.into(), &500.0.into()));
    assert_eq!(found["observations"].as_array().unwrap().len(), 4);
    assert!(found["actions"][0]["choices"].as_array().unwrap().iter().all(|n| n.as_u64().unwrap() > 600));
    // The one thing an expert would ask about: without a spread nothing tells good from bad.
    assert_eq!(found["warnings"].as_array().unwrap().len(), 1, "{}", found["warnings"]);

    let text = succeed(&shop, &["info", "a.npz", "--env", "CartPole-v1"]).stdout;
    for word in ["transitions", "1,500", "return from", "█", "obs[3]", "action[0]", "same return"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn chance_is_recorded_to_the_transition_and_follows_from_the_seed() {
    let shop = Workshop::new();
    let collect = |seed: &str, file: &str| {
        let args = ["collect", "--random", "--env", "Pendulum-v1", "--transitions", "500", "--json"];
        succeed(&shop, &[&args[..], &["--seed", seed, "-o", file]].concat()).json_line()
    };
    let said = collect("1", "a.npz");
    assert_eq!((&said["transitions"], &said["episodes"], &said["truncated"]), (&500.into(), &3.into(), &3.into()));
    assert_eq!(said["behaviour"], "random");
    collect("1", "b.npz");
    collect("2", "c.npz");
    let read = |name: &str| fs::read(shop.path(name)).unwrap();
    assert!(read("a.npz") == read("b.npz"), "the same seed gives the same bytes");
    assert!(read("a.npz") != read("c.npz"));
    let found = info(&shop, &["a.npz", "--env", "Pendulum-v1"]);
    assert_eq!(found["actions"][0]["outside"], 0);
    assert!(found["actions"][0]["max"].as_f64().unwrap() > 1.9, "actions are in the environment's units");
}

#[test]
fn policies_are_recorded_alone_and_by_share() {
    let shop = Workshop::trained(DQN);
    let args = ["collect", "run", "--deterministic", "--episodes", "4", "-o", "a.npz", "--json"];
    let said = succeed(&shop, &args).json_line();
    assert_eq!(
        (&said["env_id"], &said["behaviour"], &said["episodes"]),
        (&"CartPole-v1".into(), &"dqn".into(), &4.into())
    );
    // Made of two: the trained one falls soon, the expert does not fall.
    let mix = ["collect", "--policy", "run/checkpoints/last:1", "--policy", "scripted:3", "--episodes", "8"];
    let said = succeed(&shop, &[&mix[..], &["-o", "b.npz", "--json"]].concat()).json_line();
    assert_eq!((&said["episodes"], &said["truncated"]), (&8.into(), &6.into()), "{said}");
    assert_eq!(said["behaviour"], "dqn 1, scripted expert 3");
    // In another environment that looks the same.
    let args = ["collect", "run", "--env", "CartPoleFixedHorizon-v0", "--episodes", "2", "-o", "c.npz", "--json"];
    let said = succeed(&shop, &args).json_line();
    assert_eq!((&said["transitions"], &said["terminated"]), (&1000.into(), &0.into()));
}

#[test]
fn noise_makes_an_expert_worse() {
    let shop = Workshop::new();
    let mean = |noise: &[&str], file: &str| {
        let args = ["collect", "--scripted", "--env", "Pendulum-v1", "--episodes", "20", "--json", "-o", file];
        let said = succeed(&shop, &[&args[..], noise].concat()).json_line();
        said["mean_return"].as_f64().unwrap()
    };
    assert!(mean(&[], "a.npz") > -190.0);
    assert!(mean(&["--noise", "1.5"], "b.npz") < -500.0);
    assert!(mean(&["--epsilon", "0.6"], "c.npz") < -500.0);
}

#[test]
fn formats_are_converted_there_and_back() {
    let shop = Workshop::new();
    let args = ["collect", "--scripted", "--env", "MountainCarContinuous-v0", "--noise", "0.1", "--episodes", "3"];
    succeed(&shop, &[&args[..], &["--minari", "test/car-v0"]].concat());
    assert!(shop.path("sets/test/car-v0/data/main_data.hdf5").is_file());
    let first = info(&shop, &["test/car-v0"]);
    assert_eq!(first["metadata"]["env_id"], "MountainCarContinuous-v0");
    assert_eq!(first["endings"]["terminated"], 3);
    succeed(&shop, &["convert", "test/car-v0", "car.npz"]);
    succeed(&shop, &["convert", "car.npz", "test/car-v1", "--env", "MountainCarContinuous-v0"]);
    let second = info(&shop, &["sets/test/car-v1"]);
    for key in ["episodes", "transitions", "endings", "returns", "lengths", "observations", "actions"] {
        assert_eq!(first[key], second[key], "{key}");
    }
}

#[test]
fn datasets_are_mixed_by_share() {
    let shop = Workshop::new();
    let collect = |who: &str, file: &str| {
        succeed(&shop, &["collect", who, "--env", "Pendulum-v1", "--episodes", "10", "-o", file]);
    };
    collect("--random", "random.npz");
    collect("--scripted", "expert.npz");
    // Whole episodes of both: 400 and 1,200 transitions.
    let sizes = ["--size", "1600", "--env", "Pendulum-v1"];
    let mixed = |seed: &str, file: &str| {
        let args = [&["mix", "random.npz:1", "expert.npz:3", "--seed", seed, "-o", file], &sizes[..]].concat();
        succeed(&shop, &args);
        fs::read(shop.path(file)).unwrap()
    };
    let first = mixed("1", "a.npz");
    assert!(first == mixed("1", "b.npz") && first != mixed("2", "c.npz"));
    let found = info(&shop, &["a.npz", "--env", "Pendulum-v1"]);
    assert_eq!((&found["episodes"], &found["transitions"]), (&8.into(), &1600.into()));
    let args = [&["mix", "random.npz:1", "expert.npz:x", "-o", "d.npz"], &sizes[..]].concat();
    refused(&shop, &args, &["`x` is no share", "expert.npz:0.5"]);
    let args = [&["mix", "random.npz:1", "gone.npz:1", "-o", "d.npz"], &sizes[..]].concat();
    refused(&shop, &args, &["gone.npz"]);
    refused(&shop, &["mix", "random.npz", "-o", "d.npz", "--size", "0"], &["--size"]);
    refused(&shop, &["mix", "-o", "d.npz", "--size", "5"], &["DATASET:SHARE"]);
}

#[test]
fn ready_sets_are_listed_made_and_the_same_every_time() {
    let shop = Workshop::new();
    let listed = succeed(&shop, &["make"]).stdout;
    for id in ["pendulum/medium-v0", "cartpole/replay-v0", "mountaincarcontinuous/demos-v0", "acrobot/expert-v0"] {
        assert!(listed.contains(id), "{listed}");
    }
    assert!(shop.names().is_empty(), "listing writes nothing");
    let said = succeed(&shop, &["make", "acrobot/expert-v0"]).stdout;
    assert!(said.contains("sets/acrobot/expert-v0") && said.contains("20 episodes"), "{said}");
    let found = info(&shop, &["acrobot/expert-v0"]);
    assert_eq!((&found["episodes"], &found["metadata"]["env_id"]), (&20.into(), &"Acrobot-v1".into()));
    assert!(found["returns"]["mean"].as_f64().unwrap() > -95.0);
    succeed(&shop, &["make", "acrobot/expert-v0", "--root", "other"]);
    let read = |root: &str| fs::read(shop.path(root).join("acrobot/expert-v0/data/main_data.hdf5")).unwrap();
    assert!(read("sets") == read("other"), "the same bytes every time");
    refused(&shop, &["make", "acrobot/expert-v0"], &["acrobot/expert-v0", "already"]);
    refused(&shop, &["make", "acrobat/expert-v0"], &["did you mean `acrobot/expert-v0`?"]);
    refused(&shop, &["make", "x"], &["there is no ready set `x`", "pendulum/narrow-v0"]);
}

#[test]
fn who_acts_where_and_how_long_must_be_said() {
    let shop = Workshop::new();
    let some = ["--episodes", "1", "-o", "a.npz"];
    let collect = |args: &[&str], words: &[&str]| refused(&shop, &[&["collect"], args, &some[..]].concat(), words);
    collect(&["--env", "CartPole-v1"], &["--random", "--scripted"]);
    collect(&["--random", "--scripted", "--env", "CartPole-v1"], &["cannot be used with"]);
    collect(&["--random"], &["--env", "axiomrl envs"]);
    collect(&["--random", "--env", "Cartpole-v1"], &["unknown environment", "did you mean `CartPole-v1`?"]);
    collect(&["--scripted", "--env", "MountainCar-v0"], &["no scripted expert for `MountainCar-v0`", "Acrobot-v1"]);
    collect(&["nowhere"], &["nowhere"]);
    collect(&["--policy", "nowhere:1"], &["nowhere"]);
    collect(&["--policy", "random:half", "--env", "CartPole-v1"], &["`half` is no share"]);
    for share in ["0", "-1", "nan", "inf", ""] {
        collect(&["--policy", &format!("random:{share}"), "--env", "CartPole-v1"], &["is no share"]);
    }
    collect(&["--policy", ":1", "--env", "CartPole-v1"], &["nothing before the colon"]);
    collect(&["--random", "--env", "CartPole-v1", "--noise", "-1"], &["from 0 to 1"]);
    collect(&["--random", "--env", "CartPole-v1", "--epsilon", "2"], &["from 0 to 1"]);
    let random = ["collect", "--random", "--env", "CartPole-v1"];
    refused(&shop, &[&random[..], &["-o", "a.npz"]].concat(), &["--episodes", "--transitions"]);
    refused(&shop, &[&random[..], &["-o", "a.npz", "--episodes", "0"]].concat(), &["--episodes"]);
    refused(&shop, &[&random[..], &["--episodes", "1"]].concat(), &["--output", "--minari"]);
    refused(&shop, &[&random[..], &["--episodes", "1", "-o", "a.csv"]].concat(), &["a.csv", ".npz", "--minari"]);
    refused(&shop, &[&random[..], &["--episodes", "1", "-o", "no/a.npz"]].concat(), &["no/a.npz", "folder"]);
    refused(&shop, &[&random[..], &["--episodes", "1", "--minari", "x"]].concat(), &["x", "-v"]);
}

#[test]
fn policies_of_another_environment_are_refused_by_name() {
    let shop = Workshop::trained(DQN);
    let args = ["collect", "run", "--env", "Acrobot-v1", "--episodes", "1", "-o", "a.npz"];
    refused(&shop, &args, &["run/checkpoints/", "`CartPole-v1`", "`Acrobot-v1`"]);
    shop.write("other.yaml", &DQN.replace("CartPole-v1", "MountainCar-v0"));
    shop.succeed(&["train", "other.yaml", "--run-dir", "other", "--quiet"]);
    let args = ["collect", "--policy", "run:1", "--policy", "other:1", "--episodes", "2", "-o", "a.npz"];
    refused(&shop, &args, &["`CartPole-v1`", "`MountainCar-v0`", "--env"]);
}

#[test]
fn files_that_are_missing_or_damaged_are_refused() {
    let shop = Workshop::new();
    shop.write("text.npz", "these are no arrays");
    shop.write("empty.npz", "");
    fs::create_dir(shop.path("folder")).unwrap();
    for what in ["gone.npz", "text.npz", "empty.npz", "folder", "some/thing-v0"] {
        refused(&shop, &["info", what], &[what]);
        refused(&shop, &["convert", what, "out.npz"], &[what]);
    }
    succeed(&shop, &["collect", "--random", "--env", "CartPole-v1", "--episodes", "2", "-o", "a.npz"]);
    let whole = fs::read(shop.path("a.npz")).unwrap();
    fs::write(shop.path("cut.npz"), &whole[..whole.len() / 2]).unwrap();
    refused(&shop, &["info", "cut.npz"], &["cut.npz"]);
    refused(&shop, &["convert", "a.npz", "not an id"], &["not an id"]);
    // A file that knows its spaces is not of an environment with others.
    refused(&shop, &["info", "a.npz", "--env", "Pendulum-v1"], &["a.npz", "Discrete", "Box"]);
    refused(&shop, &["info", "a.npz", "--env", "Acrobot-v1"], &["a.npz", "actions"]);
}
