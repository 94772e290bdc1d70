//! The commands that draw and compare runs.

mod common;

use common::Workshop;
use std::fs;

fn run_file(algo: &str, env: &str, seed: u64) -> String {
    let settings = "hidden_sizes: [8], batch_size: 8, learning_starts: 20";
    format!(
        "algo: {algo}\nenv_id: {env}\nseed: {seed}\ntotal_timesteps: 90\neval_interval: 30\neval_episodes: 1\n\
         algo_kwargs: {{ {settings} }}\n"
    )
}

/// Two seeds each of two algorithms.
fn runs() -> Workshop {
    let shop = Workshop::new();
    for algo in ["dqn", "double_dqn"] {
        for seed in [1, 2] {
            shop.write("run.yaml", &run_file(algo, "CartPole-v1", seed));
            shop.succeed(&["train", "run.yaml", "--run-dir", &format!("{algo}/{seed}"), "--quiet"]);
        }
    }
    shop
}

#[test]
fn runs_are_drawn_compared_and_reported() {
    let shop = runs();
    let drawn = shop.succeed(&["plot", "dqn", "double_dqn"]).stdout;
    assert!(drawn.contains("CartPole-v1: eval/mean_reward") && drawn.contains("double_dqn: "), "{drawn}");
    assert!(!drawn.contains("no interval"), "{drawn}");
    let alone = shop.succeed(&["plot", "dqn/1", "--metric", "train/loss"]).stdout;
    assert!(alone.contains("no interval for dqn: a single run has none"), "{alone}");
    shop.succeed(&["plot", ".", "-o", "curves.svg"]);
    let svg = fs::read_to_string(shop.path("curves.svg")).unwrap();
    assert_eq!(svg.matches("fill-opacity").count(), 2, "an interval for each algorithm");
    shop.succeed(&["plot", ".", "-o", "curves.png"]);
    assert!(fs::read(shop.path("curves.png")).unwrap().starts_with(b"\x89PNG"));

    let told = shop.succeed(&["compare", "dqn", "--", "double_dqn"]).stdout;
    assert!(told.contains("B - A") && told.contains("P(B > A)"), "{told}");
    let json = shop.succeed(&["compare", "dqn", "--json", "--", "dqn"]).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&found["difference"]["value"], &found["clear"]), (&0.0.into(), &false.into()));
    assert_eq!(found["probability_of_improvement"]["value"], 0.5);

    shop.succeed(&["report", ".", "-o", "all.html"]);
    let html = fs::read_to_string(shop.path("all.html")).unwrap();
    assert!(html.contains("4 runs, 1 tasks") && html.contains("<svg") && html.contains("data:image/gif"), "{html}");
    assert!(html.contains("<td>double_dqn</td>"), "settings that differ");
}

#[test]
fn what_cannot_be_drawn_is_said_with_the_remedy() {
    let shop = runs();
    shop.write("run.yaml", &run_file("dqn", "Acrobot-v1", 1));
    shop.succeed(&["train", "run.yaml", "--run-dir", "other", "--quiet"]);
    fs::create_dir(shop.path("empty")).unwrap();
    for (args, words) in [
        (&["plot", "empty"][..], &["empty", "there is no run in it"][..]),
        (&["plot", "nowhere"], &["no such folder"]),
        (&["plot", "dqn", "other"], &["Acrobot-v1, CartPole-v1", "--any-task"]),
        (&["compare", "dqn", "--", "other"], &["different tasks", "--any-task"]),
        (&["plot", "dqn", "--metric", "train/los"], &["`train/los`", "train/loss"]),
        (&["plot", "dqn", "-o", "curves.jpg"], &["end it in `.svg` or `.png`"]),
        (&["compare", "dqn"], &["required"]),
    ] {
        let ended = shop.run(args);
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        words.iter().for_each(|word| assert!(ended.stderr.contains(word), "{args:?}: {ended:?}"));
    }
    assert!(shop.succeed(&["plot", "dqn", "other", "--any-task"]).stdout.contains("dqn on Acrobot-v1"));
    // A log that was cut short is drawn as far as it goes; an empty one is said.
    let log = shop.path("dqn/1/metrics.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, &text[..text.len() - 30]).unwrap();
    shop.succeed(&["plot", "dqn"]);
    fs::write(&log, "").unwrap();
    let ended = shop.run(&["plot", "dqn/1"]);
    assert!(ended.code == 2 && ended.stderr.contains("logged nothing yet"), "{ended:?}");
}
