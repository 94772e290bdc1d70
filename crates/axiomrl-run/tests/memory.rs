//! Memory does not grow with the length of a run. The only test of its file, for it looks at the whole process.
#![cfg(target_os = "linux")]

mod support;

use axiomrl_algos::find;
use std::fs;
use support::{config, trained};

/// More than allocators move about, less than the 60,000 transitions that the longer run has on top.
const TOLERANCE_KIB: i64 = 1024;

fn resident_kib() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn memory_does_not_grow_once_the_store_is_full() {
    // One algorithm for each kind of store.
    for (name, settings) in
        [("dqn", ["buffer_capacity=1000", "train_frequency=64"]), ("ppo", ["num_steps=256", "update_epochs=1"])]
    {
        let settings = settings.map(|setting| format!("algo_kwargs.{setting}"));
        let train = |steps| {
            let run = config(find(name).unwrap(), "CartPole-v1", steps, 1, &[&settings[0], &settings[1]]);
            assert_eq!(trained(run).1.steps, steps);
        };
        train(5000);
        let before = resident_kib();
        train(65_000);
        let growth = resident_kib() - before;
        assert!(growth < TOLERANCE_KIB, "{name}: {growth} KiB more after 65,000 steps than after 5,000");
    }
}
