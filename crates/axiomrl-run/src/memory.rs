//! Whether a run fits into memory, found out before any of it is taken: an allocation that fails ends the process without
//! a word, and one that succeeds may end it hours later.

mod available;

use available::Available;
use axiomrl_algos::RunConfig;
use axiomrl_envs::Spaces;
use serde_json::Value;

/// A part of a run that is too large for this machine.
#[derive(Debug, thiserror::Error)]
#[error("the {what} needs {}, {} are free; lower `{key}`", share(*.needed, *.total, *.free), size(*.free))]
pub struct MemoryError {
    what: &'static str,
    needed: u64,
    /// With all other parts.
    total: u64,
    free: u64,
    key: &'static str,
}

/// What the memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Train,
    /// Goes on with a saved run: while the store is read, there are two of it.
    Resume,
    /// Only acts: the store stays empty.
    Act,
}

/// Memory for one part of a run. What has been asked for but never written to costs address space and nothing else.
struct Need {
    what: &'static str,
    key: &'static str,
    reserved: u64,
    used: u64,
}

/// Refuses a run whose largest part, or all parts together, cannot fit. What can be told beforehand is a lower bound, so
/// nothing is refused that would have fitted.
pub fn check(config: &RunConfig, spaces: &Spaces, purpose: Purpose) -> Result<(), MemoryError> {
    fits(&needs(config, spaces, purpose), &Available::now())
}

fn fits(needs: &[Need], available: &Available) -> Result<(), MemoryError> {
    let limits: [(fn(&Need) -> u64, Option<u64>); 2] =
        [(|need| need.used, available.memory), (|need| need.reserved, available.address_space)];
    for (amount, free) in limits {
        let Some(free) = free else { continue };
        let total = needs.iter().map(amount).fold(0, u64::saturating_add);
        if total > free
            && let Some(largest) = needs.iter().max_by_key(|need| amount(need))
        {
            let (what, key) = (largest.what, largest.key);
            return Err(MemoryError { what, needed: amount(largest), total, free, key });
        }
    }
    Ok(())
}

/// The parts that grow with the settings. Algorithms differ in detail; these keys mean the same in all of them.
fn needs(config: &RunConfig, spaces: &Spaces, purpose: Purpose) -> Vec<Need> {
    let settings = &config.algo_kwargs.0;
    let number = |key: &str| settings.get(key).and_then(Value::as_u64);
    let obs = spaces.obs();
    let (floats, bytes) = (obs.widths.floats as u64, obs.widths.bytes as u64);
    let obs_bytes = 4 * floats + bytes;
    let action_bytes = 4 * spaces.action.width() as u64;
    let mask_bytes = spaces.masks as u64;
    let mut needs = Vec::new();
    if let Some(capacity) = number("buffer_capacity") {
        // Of stacked images a replay keeps each frame once.
        let frame = 4 * floats + bytes / obs.byte_frames().count as u64;
        // Reward, kind of end, and where the end is.
        let row = frame.saturating_add(action_bytes + mask_bytes + 9);
        let filled = if purpose == Purpose::Act { 0 } else { capacity.min(config.total_timesteps) };
        let copies = if purpose == Purpose::Resume { 2 } else { 1 };
        needs.push(Need {
            what: "replay",
            key: "algo_kwargs.buffer_capacity",
            reserved: capacity.saturating_mul(row).saturating_mul(copies),
            used: filled.saturating_mul(row),
        });
    }
    if let Some(steps) = number("num_steps") {
        // Seven numbers and two marks for each step, besides what was seen and done.
        let row = obs_bytes.saturating_add(action_bytes + mask_bytes + 30);
        let lanes = if purpose == Purpose::Act { 1 } else { config.num_envs as u64 };
        let bytes = steps.saturating_mul(lanes).saturating_mul(row);
        needs.push(Need { what: "rollout", key: "algo_kwargs.num_steps", reserved: bytes, used: bytes });
    }
    if let Some(rows) = number("batch_size").filter(|_| purpose != Purpose::Act) {
        // What was seen before and after, as numbers to calculate with.
        let bytes = rows.saturating_mul(8 * (floats + bytes));
        needs.push(Need { what: "batch", key: "algo_kwargs.batch_size", reserved: bytes, used: bytes });
    }
    for key in ["hidden_sizes", "critic_hidden_sizes"] {
        let bytes = weights(settings.get(key)).saturating_mul(16);
        // The weights, their gradient and two averages of it.
        let key = if key == "hidden_sizes" { "algo_kwargs.hidden_sizes" } else { "algo_kwargs.critic_hidden_sizes" };
        needs.push(Need { what: "network", key, reserved: bytes, used: bytes });
    }
    let bytes = (config.num_envs as u64).saturating_mul(2 * obs_bytes);
    needs.push(Need { what: "set of environments", key: "num_envs", reserved: bytes, used: bytes });
    needs
}

/// Weights between the layers of these widths.
fn weights(widths: Option<&Value>) -> u64 {
    let widths: Vec<u64> = widths.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect();
    widths.windows(2).map(|pair| pair[0].saturating_mul(pair[1])).fold(0, u64::saturating_add)
}

/// Where no part is too large by itself, what they come to is said, too.
fn share(needed: u64, total: u64, free: u64) -> String {
    if needed > free { size(needed) } else { format!("{} of {} in all", size(needed), size(total)) }
}

/// `102 GB`, in the units of disks and shops.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB")];
    match UNITS.iter().find(|(unit, _)| bytes >= 2 * unit) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{} kB", bytes / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configs;
    use crate::configs::testing::with_games;

    fn needs_of(name: &str, assignments: &[&str], purpose: Purpose) -> Vec<Need> {
        let assignments: Vec<String> = assignments.iter().map(|&a| a.to_owned()).collect();
        let experiment = configs::read(&with_games(), name, &assignments).unwrap();
        needs(&experiment.config, &experiment.environments.spaces().unwrap(), purpose)
    }

    fn refused(needs: &[Need], memory: Option<u64>, address_space: Option<u64>) -> Option<String> {
        fits(needs, &Available { memory, address_space }).err().map(|error| error.to_string())
    }

    #[test]
    fn a_replay_larger_than_the_memory_is_refused_with_the_key_to_lower() {
        let large = ["algo_kwargs.buffer_capacity=100000000", "total_timesteps=100000000"];
        let large = needs_of("curl/pendulum_pixels", &large, Purpose::Train);
        let words = refused(&large, Some(23_000_000_000), None).unwrap();
        assert_eq!(words, "the replay needs 103 GB, 23 GB are free; lower `algo_kwargs.buffer_capacity`");
        assert_eq!(refused(&large, None, None), None, "where nothing is known, nothing is refused");
    }

    #[test]
    fn what_a_short_run_never_fills_costs_address_space_only() {
        let short = ["algo_kwargs.buffer_capacity=100000000"];
        let short = needs_of("curl/pendulum_pixels", &short, Purpose::Train);
        assert_eq!(refused(&short, Some(1_000_000_000), None), None);
        assert!(refused(&short, None, Some(6_000_000_000)).unwrap().contains("103 GB, 6 GB are free"));
    }

    #[test]
    fn acting_fills_no_store_and_resuming_reads_it_into_a_second_one() {
        let replay = |purpose| {
            let need = needs_of("dqn/cartpole", &[], purpose).remove(0);
            (need.reserved, need.used)
        };
        let (reserved, used) = replay(Purpose::Train);
        assert_eq!(replay(Purpose::Act), (reserved, 0));
        assert_eq!(replay(Purpose::Resume), (2 * reserved, used));
    }

    #[test]
    fn rollouts_networks_and_environments_are_counted_too() {
        let wide = needs_of("ppo/cartpole", &["algo_kwargs.hidden_sizes=[8192, 8192, 8192]"], Purpose::Train);
        assert!(refused(&wide, Some(1_000_000_000), None).unwrap().contains("lower `algo_kwargs.hidden_sizes`"));
        let long = needs_of("ppo/cartpole", &["num_envs=4096", "algo_kwargs.num_steps=100000"], Purpose::Train);
        assert!(refused(&long, Some(8_000_000_000), None).unwrap().contains("lower `algo_kwargs.num_steps`"));
    }

    #[test]
    fn every_packaged_run_fits_into_four_gigabytes() {
        for packaged in configs::list() {
            let needs = needs_of(packaged.name, &[], Purpose::Resume);
            assert_eq!(refused(&needs, Some(4_000_000_000), Some(4_000_000_000)), None, "{}", packaged.name);
        }
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!([1500, 1_999_999, 2_000_000, 103_300_000_000].map(size), ["1 kB", "1999 kB", "2 MB", "103 GB"]);
    }
}
