//! Input that is no regular file: pipes, standard input, the `<(...)` of shells.

#![cfg(unix)]

mod common;

use common::{Ended, Workshop};
use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const SMALL: &str = "\
algo: dqn
env_id: CartPole-v1
total_timesteps: 60
eval_interval: 0
eval_episodes: 1
algo_kwargs: { hidden_sizes: [8], batch_size: 8, learning_starts: 50 }
";

/// Makes a named pipe.
fn pipe(shop: &Workshop, name: &str) {
    assert!(Command::new("mkfifo").arg(shop.path(name)).status().unwrap().success());
}

/// Waits for a command while `text` is written into a named pipe. Opening a pipe blocks until there is someone at the other
/// end: when the command does not read it, or reads it twice, the test is to fail and not to hang.
fn through(shop: &Workshop, name: &str, text: &'static str, mut child: Child) -> Ended {
    let path = shop.path(name);
    std::thread::spawn(move || fs::write(path, text));
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the command waits for more than there is in the pipe");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ended::of(child)
}

#[test]
fn run_files_may_be_pipes() {
    let shop = Workshop::new();
    shop.write("run.yaml", SMALL);
    pipe(&shop, "pipe");
    let expected = shop.succeed(&["config", "run.yaml"]).stdout;
    assert_eq!(through(&shop, "pipe", SMALL, shop.start(&["config", "pipe"])).stdout, expected);
    assert_eq!(shop.feed(&["config", "/dev/stdin"], SMALL).stdout, expected);
    let ended = through(&shop, "pipe", SMALL, shop.start(&["train", "pipe", "--run-dir", "run", "--quiet"]));
    assert_eq!(ended.code, 0, "{ended:?}");
    let wrong = shop.feed(&["train", "/dev/stdin"], &SMALL.replace("dqn", "dqnn"));
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("/dev/stdin:1:7"), "{wrong:?}");
}

#[test]
fn every_seed_gets_the_run_file_of_a_pipe() {
    let shop = Workshop::new();
    let kept = shop.path("tmp");
    fs::create_dir(&kept).unwrap();
    pipe(&shop, "pipe");
    let args =
        ["train", "pipe", "--seeds", "1,2", "--set", "total_timesteps=55", "--run-dir", "runs", "--json", "--quiet"];
    let child = shop.command(&args).env("TMPDIR", &kept).spawn().unwrap();
    let ended = through(&shop, "pipe", SMALL, child);
    assert_eq!(ended.code, 0, "{ended:?}");
    for seed in ["seed1", "seed2"] {
        let config = fs::read_to_string(shop.path("runs").join(seed).join("config.yaml")).unwrap();
        assert!(config.contains("total_timesteps: 55"), "{config}");
        assert!(config.contains(&seed.replace("seed", "seed: ")), "{config}");
    }
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 0, "the copy is gone");
}

#[test]
fn observations_may_come_from_pipes() {
    let shop = Workshop::trained(SMALL);
    pipe(&shop, "pipe");
    let rows = "0,0,0.1,0\n[0, 0, -0.1, 0]\n";
    let expected = shop.feed(&["predict", "run"], rows);
    assert_eq!((expected.code, expected.stdout.lines().count()), (0, 2));
    for name in ["-", "/dev/stdin"] {
        let ended = shop.feed(&["predict", "run", "--input", name], rows);
        assert_eq!((ended.code, &ended.stdout), (0, &expected.stdout), "{name}: {}", ended.stderr);
    }
    let ended = through(&shop, "pipe", rows, shop.start(&["predict", "run", "--input", "pipe"]));
    assert_eq!((ended.code, &ended.stdout), (0, &expected.stdout), "{}", ended.stderr);
    let script = "\"$0\" predict run --input <(printf '0,0,0.1,0\\n0,0,-0.1,0\\n')";
    let shell =
        Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_axiomrl")]).current_dir(shop.path("")).output();
    let shell = shell.unwrap();
    assert_eq!(String::from_utf8(shell.stdout).unwrap(), expected.stdout, "{}", String::from_utf8_lossy(&shell.stderr));
}
