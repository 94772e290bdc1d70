//! Seeds that nobody has chosen.

use crate::docs::shown::FIRST_TEST_SEED as FIRST;

const COUNT: u64 = 900_000;

/// `count` different test seeds of a config after the first `seen` ones: they follow from its name.
pub fn of(config: &str, seen: usize, count: usize) -> Vec<u64> {
    let mut seeds = Vec::new();
    for draw in 0.. {
        if seeds.len() == seen + count {
            break;
        }
        let seed = FIRST + fnv1a(&format!("{config}#{draw}")) % COUNT;
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    seeds.split_off(seen)
}

/// Whether a seed may be recorded as a test: nobody tunes on such seeds.
pub fn is_test(seed: u64) -> bool {
    seed >= FIRST
}

/// Fowler, Noll and Vo's hash, 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_follow_from_the_name_and_more_of_them_begin_with_the_same() {
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        let (five, ten) = (of("dqn/cartpole", 0, 5), of("dqn/cartpole", 0, 10));
        assert_eq!((five.len(), &ten[..5]), (5, &five[..]));
        assert!(ten.iter().all(|&seed| is_test(seed)) && !is_test(5));
        assert_ne!(five, of("ppo/cartpole", 0, 5));
        assert_eq!(of("dqn/cartpole", 5, 5), ten[5..]);
    }
}
