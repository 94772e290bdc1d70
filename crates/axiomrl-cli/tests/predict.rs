//! `predict` answers what the policy does in its environment, and refuses what no environment shows.

mod common;

use axiomrl_algos::{ActContext, ActInput, Memory, Mode};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{ObsRef, Purpose, Seeding, VecEnv};
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::checkpoint::{self, CheckpointWriter, SavedPolicy};
use axiomrl_run::policy::TrainedPolicy;
use common::{Ended, Workshop};
use serde_json::{Value, json};
use std::path::Path;

const RECURRENT: &str = "\
algo: recurrent_ppo
env_id: PendulumNoVel-v1
env_kwargs: { max_episode_steps: 12 }
total_timesteps: 64
num_envs: 2
eval_interval: 0
algo_kwargs: { num_steps: 16, minibatch_size: 16, sequence_length: 8, hidden_sizes: [8], recurrent_hidden_size: 8, learning_rate: 0.01 }
";
const PIXELS: &str = "\
algo: recurrent_ppo
env_id: PendulumPixels-v0
env_kwargs: { max_episode_steps: 6, size: 16 }
frame_stack: 2
total_timesteps: 32
eval_interval: 0
algo_kwargs: { num_steps: 16, minibatch_size: 16, sequence_length: 8, hidden_sizes: [8], recurrent_hidden_size: 8 }
";
const DISCRETE: &str = "\
algo: dqn
env_id: IdentityDiscrete-v0
env_kwargs: { n: 3 }
total_timesteps: 120
eval_interval: 0
algo_kwargs: { hidden_sizes: [8], batch_size: 8, learning_starts: 50 }
";

fn loaded(shop: &Workshop) -> TrainedPolicy {
    TrainedPolicy::load(&Catalogue::builtin(), &shop.path("run/checkpoints/last")).unwrap()
}

/// An environment that has just been reset, as the policy was trained in.
fn environment(policy: &TrainedPolicy) -> Box<dyn VecEnv> {
    let source = policy.environments(&Catalogue::builtin()).unwrap();
    let mut env = source.make(1, &Seeding::new(3, "eval/0"), Purpose::Evaluation).unwrap();
    env.reset(None).unwrap();
    env
}

/// The numbers of an observation, as `predict` takes them.
fn numbers(obs: ObsRef<'_>) -> Vec<f32> {
    obs.floats.iter().copied().chain(obs.bytes.iter().map(|&byte| f32::from(byte))).collect()
}

/// Plays an episode through the library, and gives every observation and the action taken on it.
fn stepped(shop: &Workshop) -> (Vec<Vec<f32>>, Vec<f32>) {
    let mut policy = loaded(shop).policy;
    let mut env = environment(&loaded(shop));
    let mut memory = Memory::new(1, policy.memory_width());
    let mut rng = stream(0, "unused");
    let (mut rows, mut actions) = (Vec::new(), Vec::new());
    let mut action = vec![0.0; env.spaces().action.width()];
    let mut executed = action.clone();
    loop {
        let state = env.state();
        rows.push(numbers(state.obs.as_ref()));
        let input = ActInput { obs: state.obs.as_ref(), masks: &state.masks };
        policy.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut action).unwrap();
        policy.action_map().to_env(&action, &mut executed);
        actions.extend_from_slice(&executed);
        env.step(0..1, &executed).unwrap();
        if !env.state().episodes.is_empty() {
            return (rows, actions);
        }
    }
}

fn lines(rows: &[Vec<f32>]) -> String {
    rows.iter().map(|row| format!("{}\n", json!(row))).collect()
}

fn predict(shop: &Workshop, args: &[&str], input: &str) -> Ended {
    shop.feed(&[&["predict", "run", "--checkpoint", "last"], args].concat(), input)
}

/// The numbers answered, one for each row.
fn answers(shop: &Workshop, args: &[&str], input: &str) -> Vec<f32> {
    let ended = predict(shop, args, input);
    assert_eq!(ended.code, 0, "{ended:?}");
    let number = |line: &str| serde_json::from_str::<[f32; 1]>(line).unwrap()[0];
    ended.stdout.lines().map(number).collect()
}

#[track_caller]
fn refused(ended: Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, code, "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word:?}: {}", ended.stderr);
    }
}

#[test]
fn a_policy_with_memory_answers_as_it_acts_in_an_episode() {
    let shop = Workshop::trained(RECURRENT);
    let (mut rows, actions) = stepped(&shop);
    assert_eq!(rows.len(), 12);
    let forwards = lines(&rows);
    assert_eq!(answers(&shop, &[], &forwards), actions, "rows are one episode");

    let alone: Vec<f32> = rows.iter().map(|row| answers(&shop, &[], &lines(std::slice::from_ref(row)))[0]).collect();
    assert_eq!(answers(&shop, &["--reset-each"], &forwards), alone);
    assert_eq!(alone[0], actions[0]);
    assert_ne!(alone[1..], actions[1..], "the memory makes a difference");

    let twice: Vec<f32> = [&actions[..], &actions[..]].concat();
    assert_eq!(answers(&shop, &["--episode-starts", "0,12"], &format!("{forwards}\n{forwards}")), twice);
    assert_ne!(answers(&shop, &[], &forwards.repeat(2)), twice);
    let objects: String = [&rows[..], &rows[..]]
        .concat()
        .iter()
        .enumerate()
        .fold(String::new(), |text, (i, row)| text + &format!("{}\n", json!({ "obs": row, "start": i == 12 })));
    assert_eq!(answers(&shop, &[], &objects), twice);

    rows.reverse();
    let mut backwards = answers(&shop, &[], &lines(&rows));
    backwards.reverse();
    assert_ne!(backwards, actions);
}

#[test]
fn starts_that_no_row_has_are_told() {
    let shop = Workshop::trained(DISCRETE);
    refused(predict(&shop, &["--episode-starts", "1,2"], "0\n1\n"), 2, &["--episode-starts", "row 2", "has 2"]);
    let plain = predict(&shop, &[], "0\n1\n2\n");
    assert_eq!(plain.stdout, predict(&shop, &["--episode-starts", "1,2"], "0\n1\n2\n").stdout, "no memory to lose");
    assert_eq!(plain.stdout, predict(&shop, &["--reset-each"], "0\n1\n2\n").stdout);
}

#[test]
fn pixels_are_bytes_and_nothing_else() {
    let shop = Workshop::trained(PIXELS);
    let (rows, actions) = stepped(&shop);
    assert_eq!(rows[0].len(), 16 * 16 * 2);
    assert_eq!(answers(&shop, &[], &lines(&rows)), actions);
    for pixel in [-7.0, 0.5, 256.0, 1e30] {
        let mut bad = rows[0].clone();
        bad[4] = pixel;
        refused(
            predict(&shop, &[], &lines(&[bad])),
            2,
            &["standard input:1:", "number 5", "whole number from 0 to 255"],
        );
    }
    let layout = shop.succeed(&["predict", "run", "--layout", "--json"]).json_line();
    let part = &layout["observation"]["parts"][0];
    assert_eq!((&part["shape"], &part["values"]), (&json!([16, 16, 2]), &json!("pixel")));
    assert_eq!((&layout["memory"], &layout["frame_stack"]), (&json!(true), &json!(2)));
    let text = shop.succeed(&["predict", "run", "--layout"]).stdout;
    for words in ["16 × 16 × 2, each 0 to 255", "last 2 observations", "oldest first", "carried from row to row"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn normalised_observations_are_given_raw() {
    let shop = Workshop::trained(&format!("{RECURRENT}normalize_observation: true\n"));
    let (_, normalised) = stepped(&shop);
    // The same episode again: what the environment itself shows.
    let mut env = environment(&loaded(&shop));
    let mut rows = Vec::new();
    for action in &normalised {
        rows.push(numbers(env.state().obs.as_ref()));
        env.step(0..1, &[*action]).unwrap();
    }
    let policy = loaded(&shop).policy;
    let statistics = policy.statistics().expect("the run gathered them").running();
    assert!(statistics.mean().iter().any(|mean| *mean != 0.0), "they make a difference");
    assert_eq!(answers(&shop, &[], &lines(&rows)), normalised);
    assert!(shop.succeed(&["predict", "run", "--layout"]).stdout.contains("normalises by itself"));
}

#[test]
fn choices_that_do_not_exist_are_refused() {
    let shop = Workshop::trained(DISCRETE);
    for choice in ["3", "99", "-1", "0.5"] {
        refused(
            predict(&shop, &[], choice),
            2,
            &["standard input:1:", choice, "a choice is a whole number from 0 to 2"],
        );
    }
    for number in ["NaN", "inf"] {
        refused(predict(&shop, &[], number), 2, &["not a finite number"]);
    }
    refused(predict(&shop, &[], "{\"observation\": 1}"), 2, &["unknown key `observation`", "`obs`"]);
}

#[test]
fn masks_forbid_choices() {
    let masked = DISCRETE.replace("IdentityDiscrete-v0", "IdentityMasked-v0").replace("n: 3", "n: 4");
    let shop = Workshop::trained(&masked);
    for only in 0..4 {
        let mask: Vec<bool> = (0..4).map(|choice| choice == only).collect();
        let ended = predict(&shop, &[], &json!({ "obs": 1, "mask": mask }).to_string());
        assert_eq!(ended.stdout.trim(), only.to_string(), "{ended:?}");
    }
    let none = r#"{"obs": [0], "mask": [0, 0, 0, 0]}"#;
    refused(predict(&shop, &[], none), 2, &["standard input:1:", "no choice at all"]);
    refused(predict(&shop, &[], r#"{"obs": 0, "mask": [1]}"#), 2, &["1 entries in the mask"]);
    assert_eq!(shop.succeed(&["predict", "run", "--layout", "--json"]).json_line()["mask_width"], 4);
}

/// A mask nobody looks at must not pass for one that was heeded.
#[test]
fn masks_that_would_be_ignored_are_refused() {
    for (text, row) in [(DISCRETE, r#"{"obs": 1, "mask": [1, 0, 0]}"#), (RECURRENT, r#"{"obs": [1, 0], "mask": [1]}"#)]
    {
        let shop = Workshop::trained(text);
        refused(predict(&shop, &[], row), 2, &["standard input:1:", "takes no mask", "leave it out"]);
        assert_eq!(shop.succeed(&["predict", "run", "--layout", "--json"]).json_line()["mask_width"], 0);
    }
}

#[test]
fn the_order_of_a_goal_observation_is_told() {
    let shop = Workshop::trained(
        "algo: her\nenv_id: BitFlip-v0\nenv_kwargs: { n: 4 }\ntotal_timesteps: 60\neval_interval: 0\n\
         algo_kwargs: { hidden_sizes: [8], batch_size: 8, learning_starts: 20 }\n",
    );
    let layout = shop.succeed(&["predict", "run", "--layout", "--json"]).json_line();
    let parts: Vec<(&str, u64, u64)> = layout["observation"]["parts"].as_array().unwrap().iter().map(part).collect();
    assert_eq!(parts, [("observation", 0, 4), ("achieved_goal", 4, 8), ("desired_goal", 8, 12)]);
    let text = shop.succeed(&["predict", "run", "--layout"]).stdout;
    let places = ["12 numbers", "observation: 4", "achieved_goal: 4", "desired_goal: 4"].map(|words| text.find(words));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    refused(predict(&shop, &[], "1,2,3"), 2, &["(observation 4, achieved_goal 4, desired_goal 4)"]);
    let named = r#"{"obs": {"desired_goal": [1,0,1,1], "achieved_goal": [0,0,1,0], "observation": [0,0,1,0]}}"#;
    let answer = predict(&shop, &[], named);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert_eq!(answer.stdout, predict(&shop, &[], "0,0,1,0,0,0,1,0,1,0,1,1").stdout);
}

fn part(part: &Value) -> (&str, u64, u64) {
    (part["name"].as_str().unwrap(), part["start"].as_u64().unwrap(), part["end"].as_u64().unwrap())
}

fn save_again(folder: &Path, saved: &SavedPolicy) {
    let writer = CheckpointWriter::begin(folder).unwrap();
    let spaces = saved.spaces.as_ref().unwrap();
    writer.finish(&saved.config, &saved.counters, spaces, &saved.snapshot, None, true).unwrap();
}

#[test]
fn weights_that_are_no_numbers_are_not_used() {
    for (text, row) in [(RECURRENT, "1,0"), (DISCRETE, "1")] {
        let shop = Workshop::trained(text);
        let folder = shop.path("run/checkpoints/last");
        for value in [f32::NAN, f32::INFINITY] {
            let mut saved = checkpoint::load_policy(&folder).unwrap();
            let (name, tensor) = saved.snapshot.policy.tensors.iter_mut().next().unwrap();
            tensor.values[0] = value;
            let words = [name.clone(), value.to_string(), "another checkpoint".to_owned()];
            save_again(&folder, &saved);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ended = predict(&shop, &[], row);
            assert_eq!(ended.stdout, "");
            refused(ended, 4, &words);
            shop.refused(&["eval", "run", "--checkpoint", "last", "--json"], 4, &words);
        }
    }
}

#[test]
fn a_reward_that_is_no_number_is_no_measurement() {
    let text = DISCRETE.replace("IdentityDiscrete-v0", "Faulty-v0").replace("n: 3", "nan_reward_at: 100000");
    let shop = Workshop::trained(&text);
    let folder = shop.path("run/checkpoints/last");
    let mut saved = checkpoint::load_policy(&folder).unwrap();
    saved.config["env_kwargs"]["nan_reward_at"] = json!(2);
    save_again(&folder, &saved);
    let eval = ["eval", "run", "--checkpoint", "last", "--episodes", "2"];
    shop.refused(&eval, 4, &["reward of NaN", "Faulty-v0"]);
}
