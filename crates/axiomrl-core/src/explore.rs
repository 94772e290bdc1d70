//! Ways to act other than the policy says.
//!
//! Continuous actions live in [−1, 1]; every noise clips to it, so that what is stored is what was executed.

use crate::Rng;
use crate::random::{below, normal, uniform};
use serde::{Deserialize, Serialize};

/// Replaces each row's greedy choice, with probability `epsilon`, by one of its allowed choices, all equally likely.
///
/// `masks` has `choices` entries for each row, or none when everything is allowed. A row that allows nothing keeps its
/// choice.
pub fn epsilon_greedy(greedy: &mut [f32], choices: usize, masks: &[bool], epsilon: f64, rng: &mut Rng) {
    for (row, action) in greedy.iter_mut().enumerate() {
        if uniform(rng) >= epsilon {
            continue;
        }
        if masks.is_empty() {
            *action = below(rng, choices) as f32;
            continue;
        }
        let mask = &masks[row * choices..(row + 1) * choices];
        let allowed = mask.iter().filter(|&&allowed| allowed).count();
        if allowed > 0 {
            let drawn = below(rng, allowed);
            let choice = (0..choices).filter(|&choice| mask[choice]).nth(drawn);
            *action = choice.map_or(*action, |choice| choice as f32);
        }
    }
}

/// Independent noise at each step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussianNoise {
    pub std: f32,
}

impl GaussianNoise {
    /// Adds noise to every number of `actions`.
    pub fn apply(&self, actions: &mut [f32], rng: &mut Rng) {
        for action in actions {
            *action = (*action + self.std * normal(rng)).clamp(-1.0, 1.0);
        }
    }
}

/// Noise that drifts back to zero: `x ← x − θ·x·dt + σ·√dt·N(0,1)`. In the long run its standard deviation is about
/// `σ / √(2θ)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrnsteinUhlenbeck {
    pub sigma: f32,
    pub theta: f32,
    pub dt: f32,
    width: usize,
    state: Vec<f32>,
}

impl OrnsteinUhlenbeck {
    /// With the usual θ = 0.15 and dt = 0.01.
    pub fn new(lanes: usize, width: usize, sigma: f32) -> Self {
        Self { sigma, theta: 0.15, dt: 1e-2, width, state: vec![0.0; lanes * width] }
    }

    /// Adds noise to the actions of all lanes, in order.
    pub fn apply(&mut self, actions: &mut [f32], rng: &mut Rng) {
        assert_eq!(actions.len(), self.state.len(), "one action for each lane");
        for (action, x) in actions.iter_mut().zip(&mut self.state) {
            *x += -self.theta * *x * self.dt + self.sigma * self.dt.sqrt() * normal(rng);
            *action = (*action + *x).clamp(-1.0, 1.0);
        }
    }

    /// For the start of an episode.
    pub fn reset(&mut self, lane: usize) {
        self.state[lane * self.width..(lane + 1) * self.width].fill(0.0);
    }
}

/// Pink noise: its power falls with frequency as `1/f`. It wanders farther than white noise of the same size and yet
/// comes back.
///
/// It is the sum of white noise and of first-order filters whose time constants double from one to the next: 1, 2,
/// 4 … steps up to the horizon, all of the same variance. A filter with time constant τ is flat up to 1/τ and falls as
/// 1/f² beyond; together the corners make 1/f, with a slope within 5 % of it from a quarter of the step rate down to
/// 1/horizon. Unlike noise made by Fourier transform it needs no block and can stop and go on at any step. Each filter
/// starts in its stationary state, so the first step already has the size of all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColoredNoise {
    pub std: f32,
    width: usize,
    /// of each filter: how much of its state stays from one step to the next
    keep: Vec<f32>,
    /// `[lanes * width, filters]`
    state: Vec<f32>,
}

impl ColoredNoise {
    /// `horizon` is the length of an episode, the slowest movement that matters.
    pub fn pink(lanes: usize, width: usize, std: f32, horizon: usize, rng: &mut Rng) -> Self {
        let octaves = horizon.clamp(2, 1 << 30).next_power_of_two().trailing_zeros();
        let filters = (0..=octaves).map(|octave| (-1.0 / f64::from(1u32 << octave)).exp() as f32);
        let keep: Vec<f32> = std::iter::once(0.0).chain(filters).collect();
        let mut noise = Self { std, width, state: vec![0.0; lanes * width * keep.len()], keep };
        (0..lanes).for_each(|lane| noise.reset(lane, rng));
        noise
    }

    /// The next numbers of all lanes, added to their actions.
    pub fn apply(&mut self, actions: &mut [f32], rng: &mut Rng) {
        let filters = self.keep.len();
        assert_eq!(actions.len() * filters, self.state.len(), "one action for each lane");
        let scale = self.std / (filters as f32).sqrt();
        for (action, state) in actions.iter_mut().zip(self.state.chunks_exact_mut(filters)) {
            let mut sum = 0.0;
            for (x, keep) in state.iter_mut().zip(&self.keep) {
                sum += *x;
                *x = keep * *x + (1.0 - keep * keep).sqrt() * normal(rng);
            }
            *action = (*action + scale * sum).clamp(-1.0, 1.0);
        }
    }

    /// For the start of an episode: noise that has nothing to do with what came before.
    pub fn reset(&mut self, lane: usize, rng: &mut Rng) {
        let n = self.width * self.keep.len();
        for x in &mut self.state[lane * n..(lane + 1) * n] {
            *x = normal(rng);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn epsilon_is_the_share_of_random_choices() {
        let mut rng = stream(1, "act");
        let mut actions = vec![3.0; 40_000];
        epsilon_greedy(&mut actions, 4, &[], 0.4, &mut rng);
        // A quarter of the random choices is the greedy one again.
        let changed = actions.iter().filter(|&&a| a != 3.0).count();
        assert!((11_400..12_600).contains(&changed), "{changed}");
        let mut kept = vec![2.0; 100];
        epsilon_greedy(&mut kept, 4, &[], 0.0, &mut rng);
        assert_eq!(kept, vec![2.0; 100]);
    }

    #[test]
    fn only_allowed_choices_are_drawn_and_all_of_them() {
        let mut rng = stream(2, "act");
        let masks = [true, false, true, false, false, false, false, true, true];
        let mut seen = [[0u32; 3]; 3];
        for _ in 0..3_000 {
            let mut actions = [0.0, 1.0, 1.0];
            epsilon_greedy(&mut actions, 3, &masks, 1.0, &mut rng);
            actions.iter().enumerate().for_each(|(row, &a)| seen[row][a as usize] += 1);
        }
        assert!(seen[0][1] == 0 && seen[0][0].abs_diff(1_500) < 165 && seen[0][2].abs_diff(1_500) < 165);
        assert_eq!(seen[1], [0, 3_000, 0], "nothing allowed: the choice stays");
        assert!(seen[2][0] == 0 && seen[2][1] > 1_335 && seen[2][2] > 1_335);
    }

    #[test]
    fn gaussian_noise_has_its_size_and_is_clipped() {
        let mut rng = stream(3, "act");
        let mut actions = vec![0.0; 50_000];
        GaussianNoise { std: 0.1 }.apply(&mut actions, &mut rng);
        let variance = actions.iter().map(|a| a * a).sum::<f32>() / 50_000.0;
        assert!((variance.sqrt() - 0.1).abs() < 0.002);
        let mut edge = vec![0.95; 1_000];
        GaussianNoise { std: 1.0 }.apply(&mut edge, &mut rng);
        assert!(edge.iter().all(|a| (-1.0..=1.0).contains(a)) && edge.contains(&1.0));
    }

    #[test]
    fn ornstein_uhlenbeck_drifts_and_forgets_at_a_reset() {
        let mut rng = stream(4, "act");
        let mut noise = OrnsteinUhlenbeck::new(2, 1, 0.2);
        let mut pairs = Vec::new();
        let mut before = 0.0;
        for _ in 0..1_000 {
            let mut actions = [0.0; 2];
            noise.apply(&mut actions, &mut rng);
            pairs.push(actions[0] - before);
            before = actions[0];
        }
        // Steps have the size σ√dt = 0.02 however far the noise has drifted.
        let step = (pairs.iter().map(|d| d * d).sum::<f32>() / 1_000.0).sqrt();
        assert!((step - 0.02).abs() < 0.003, "{step}");
        noise.reset(0);
        assert!(noise.state[0] == 0.0 && noise.state[1] != 0.0);
    }

    /// Power at `cycles` per `n` steps, averaged over many stretches.
    fn power(noise: &mut ColoredNoise, n: usize, cycles: &[usize], rng: &mut Rng) -> Vec<f64> {
        let mut power = vec![0.0; cycles.len()];
        for _ in 0..600 {
            noise.reset(0, rng);
            let x: Vec<f64> = (0..n)
                .map(|_| {
                    let mut action = [0.0];
                    noise.apply(&mut action, rng);
                    f64::from(action[0])
                })
                .collect();
            for (p, &k) in power.iter_mut().zip(cycles) {
                let angle = |t: usize| std::f64::consts::TAU * (k * t) as f64 / n as f64;
                let re: f64 = x.iter().enumerate().map(|(t, x)| x * angle(t).cos()).sum();
                let im: f64 = x.iter().enumerate().map(|(t, x)| x * angle(t).sin()).sum();
                *p += re * re + im * im;
            }
        }
        power
    }

    #[test]
    fn the_power_is_inverse_to_the_frequency() {
        let mut rng = stream(5, "act");
        let mut noise = ColoredNoise::pink(1, 1, 0.05, 512, &mut rng);
        let p = power(&mut noise, 512, &[4, 16, 64, 128], &mut rng);
        for (slow, fast, octaves) in [(0, 1, 2.0), (1, 2, 2.0), (0, 2, 4.0), (0, 3, 5.0)] {
            let slope = (p[slow] / p[fast]).log2() / octaves;
            assert!((slope - 1.0).abs() < 0.1, "{slope} over {octaves} octaves");
        }
    }

    #[test]
    fn pink_noise_has_unit_size_at_every_step_and_survives_a_file() {
        let mut rng = stream(6, "act");
        let mut noise = ColoredNoise::pink(4_000, 1, 0.2, 1_000, &mut rng);
        for _ in 0..3 {
            let mut actions = vec![0.0; 4_000];
            noise.apply(&mut actions, &mut rng);
            let std = (actions.iter().map(|a| a * a).sum::<f32>() / 4_000.0).sqrt();
            assert!((std - 0.2).abs() < 0.014, "{std}");
        }
        let mut copy: ColoredNoise = serde_json::from_str(&serde_json::to_string(&noise).unwrap()).unwrap();
        let (mut a, mut b, mut other) = (vec![0.0; 4_000], vec![0.0; 4_000], rng.clone());
        noise.apply(&mut a, &mut rng);
        copy.apply(&mut b, &mut other);
        assert_eq!(a, b);
    }
}
