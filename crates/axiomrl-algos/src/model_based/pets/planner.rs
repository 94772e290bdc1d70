//! What a plan costs: particles that follow it through a model, and none of them for free.

use super::Propagation;
use super::cem::Cem;
use crate::agent::LearnError;
use crate::model_based::dynamics::{Dynamics, Prediction};
use crate::model_based::termination::{Ends, Imagined};
use axiomrl_core::Rng;
use axiomrl_core::random::{below, normal};

/// What a particle costs whose numbers stopped being any: more than any plan can.
const LOST: f32 = 1e6;

/// Somewhere a plan can be tried out.
pub trait World {
    /// Steps every particle. `particles` of them, one behind the other, belong to each candidate.
    fn advance(&self, obs: &[f32], action: &[f32], particles: usize, rng: &mut Rng) -> Result<Advanced, LearnError>;
}

/// Where particles have come to.
pub struct Advanced {
    pub next_obs: Vec<f32>,
    pub reward: Vec<f32>,
    pub ended: Vec<bool>,
}

/// How decisions are made.
#[derive(Clone, Copy, Debug)]
pub struct Planner {
    pub cem: Cem,
    pub horizon: usize,
    pub particles: usize,
}

impl Planner {
    /// Improves the plan of each observation and gives its first action; the plans move on by a step. Rows of `plans` are
    /// actions one behind the other, and end in the middle of the box.
    pub fn decide(
        &self,
        world: &dyn World,
        (obs, decisions): (&[f32], usize),
        plans: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        let numbers = plans.len() / decisions;
        self.cem.improve(plans, decisions, rng, |candidates, rng| self.costs(world, obs, candidates, numbers, rng))?;
        let actions_each = numbers / self.horizon;
        for (plan, action) in plans.chunks_exact_mut(numbers).zip(actions.chunks_exact_mut(actions_each)) {
            // The mean of what was drawn, not the luckiest draw.
            action.copy_from_slice(&plan[..actions_each]);
            plan.rotate_left(actions_each);
            plan[numbers - actions_each..].fill(0.0);
        }
        Ok(())
    }

    /// The mean cost of each candidate's particles: minus what they earn, and nothing after an end.
    fn costs(
        &self,
        world: &dyn World,
        obs: &[f32],
        candidates: &[f32],
        numbers: usize,
        rng: &mut Rng,
    ) -> Result<Vec<f32>, LearnError> {
        let (count, population) = (candidates.len() / numbers, self.cem.population);
        let (width, actions) = (obs.len() * population / count, numbers / self.horizon);
        let mut state: Vec<f32> = Vec::with_capacity(count * self.particles * width);
        for from in obs.chunks_exact(width) {
            (0..population * self.particles).for_each(|_| state.extend_from_slice(from));
        }
        let mut costs = vec![0.0; count * self.particles];
        let mut over = vec![false; costs.len()];
        let mut action = Vec::with_capacity(costs.len() * actions);
        for t in 0..self.horizon {
            action.clear();
            for plan in candidates.chunks_exact(numbers) {
                (0..self.particles).for_each(|_| action.extend_from_slice(&plan[t * actions..(t + 1) * actions]));
            }
            let Advanced { next_obs, reward, ended } = world.advance(&state, &action, self.particles, rng)?;
            for (((cost, over), reward), ended) in costs.iter_mut().zip(&mut over).zip(reward).zip(ended) {
                if !*over {
                    *cost -= reward;
                }
                *over |= ended;
            }
            state = next_obs;
        }
        Ok(costs.chunks_exact(self.particles).map(mean_cost).collect())
    }
}

/// The mean of the particles' costs. One whose numbers are lost must not be forgotten, or it would win.
fn mean_cost(particles: &[f32]) -> f32 {
    particles.iter().map(|cost| if cost.is_finite() { *cost } else { LOST }).sum::<f32>() / particles.len() as f32
}

/// A learned ensemble as a world.
pub struct ModelWorld<'a> {
    pub model: &'a Dynamics,
    pub ends: &'a Ends,
    pub propagation: Propagation,
    pub project: bool,
}

/// The network that a particle is in, of `particles` of a candidate.
fn member_of(particle: usize, particles: usize, members: usize) -> usize {
    particle * members / particles
}

impl World for ModelWorld<'_> {
    fn advance(&self, obs: &[f32], action: &[f32], particles: usize, rng: &mut Rng) -> Result<Advanced, LearnError> {
        let (members, outputs) = (self.model.members(), self.model.outputs());
        let known = !self.model.with_reward();
        let width = outputs - usize::from(!known);
        let rows = obs.len() / width;
        let (candidates, share) = (rows / particles, particles / members);
        // Where each particle stands among the rows of its network.
        let mut slots: Vec<usize> = Vec::with_capacity(rows);
        let mut order: Vec<usize> = (0..particles).collect();
        for candidate in 0..candidates {
            if self.propagation == Propagation::Ts1 {
                (1..particles).rev().for_each(|last| order.swap(last, below(rng, last + 1)));
            }
            slots.extend(order.iter().map(|&place| {
                member_of(place, particles, members) * candidates * share + candidate * share + place % share
            }));
        }
        let (mut plain, mut inputs, mut said) = (Vec::new(), Vec::new(), Prediction::default());
        self.model.inputs(obs, action, &mut plain);
        let inputs_each = plain.len() / rows.max(1);
        inputs.resize(plain.len(), 0.0);
        for (row, &slot) in plain.chunks_exact(inputs_each).zip(&slots) {
            inputs[slot * inputs_each..(slot + 1) * inputs_each].copy_from_slice(row);
        }
        self.model.predict_all(&inputs, rows / members, &mut said);
        let (mut reward, mut next_obs) = (vec![0.0; rows], Vec::with_capacity(obs.len()));
        for (row, (from, &slot)) in obs.chunks_exact(width).zip(&slots).enumerate() {
            let at = slot * outputs..(slot + 1) * outputs;
            let said = said.mean[at.clone()].iter().zip(&said.std[at]);
            let mut drawn = said.map(|(mean, std)| mean + std * normal(rng));
            if !known {
                reward[row] = drawn.next().unwrap_or(f32::NAN);
            }
            next_obs.extend(from.iter().zip(drawn).map(|(from, change)| from + change));
        }
        if self.project {
            self.ends.project(&mut next_obs);
        }
        let mut ended = vec![false; rows];
        let step = Imagined { obs, action, next_obs: &next_obs };
        self.ends.judge(step, known.then_some(&mut reward[..]), &mut ended)?;
        Ok(Advanced { next_obs, reward, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;

    #[test]
    fn a_lost_particle_is_dear() {
        assert_eq!(mean_cost(&[f32::NAN, 2.0, 4.0, 6.0]), 250_003.0);
    }

    #[test]
    fn particles_are_dealt_evenly_to_networks() {
        assert_eq!(member_of(7, 20, 5), 1);
        let mut counts = [0; 5];
        (0..20).for_each(|particle| counts[member_of(particle, 20, 5)] += 1);
        assert_eq!(counts, [4; 5]);
    }

    /// The pendulum itself, from its published equations.
    struct Pendulum;

    impl Pendulum {
        fn step(obs: &[f32], action: f32) -> ([f32; 3], f32) {
            let (angle, torque) = (obs[1].atan2(obs[0]), 2.0 * action.clamp(-1.0, 1.0));
            let speed = (obs[2] + 0.05 * (15.0 * angle.sin() + 3.0 * torque)).clamp(-8.0, 8.0);
            let next = angle + 0.05 * speed;
            let cost = angle * angle + 0.1 * obs[2] * obs[2] + 0.001 * torque * torque;
            ([next.cos(), next.sin(), speed], -cost)
        }
    }

    impl World for Pendulum {
        fn advance(&self, obs: &[f32], action: &[f32], _: usize, _: &mut Rng) -> Result<Advanced, LearnError> {
            let (mut next_obs, mut reward) = (Vec::new(), Vec::new());
            for (obs, action) in obs.chunks_exact(3).zip(action) {
                let (next, earned) = Pendulum::step(obs, *action);
                next_obs.extend(next);
                reward.push(earned);
            }
            let ended = vec![false; reward.len()];
            Ok(Advanced { next_obs, reward, ended })
        }
    }

    /// Planning with the world itself for a model: what a perfect model is worth. Warm start included: a plan goes on.
    #[test]
    fn with_true_dynamics_the_pendulum_is_swung_up() {
        let cem = Cem { population: 80, elites: 10, iterations: 3, smoothing: 0.1 };
        let (planner, episodes) = (Planner { cem, horizon: 25, particles: 1 }, 12);
        let mut rng = stream(1, "plan");
        let start = |i: usize| {
            let angle = -std::f32::consts::PI + (i as f32 + 0.5) * std::f32::consts::TAU / episodes as f32;
            [angle.cos(), angle.sin(), 0.8 * (i as f32 * 1.7).sin()]
        };
        let mut obs: Vec<f32> = (0..episodes).flat_map(start).collect();
        let (mut plans, mut actions, mut total) = (vec![0.0; episodes * 25], vec![0.0; episodes], 0.0);
        for _ in 0..200 {
            planner.decide(&Pendulum, (&obs, episodes), &mut plans, &mut rng, &mut actions).unwrap();
            for (obs, action) in obs.chunks_exact_mut(3).zip(&actions) {
                let (next, reward) = Pendulum::step(obs, *action);
                obs.copy_from_slice(&next);
                total += reward / episodes as f32;
            }
        }
        assert!(total >= -190.0, "{total}");
    }

    /// Pays 1 for every step, and ends where an action is positive.
    struct Cliff;

    impl World for Cliff {
        fn advance(&self, obs: &[f32], action: &[f32], _: usize, _: &mut Rng) -> Result<Advanced, LearnError> {
            let ended = action.iter().map(|a| *a > 0.0).collect();
            Ok(Advanced { next_obs: obs.to_vec(), reward: vec![1.0; action.len()], ended })
        }
    }

    #[test]
    fn a_plan_earns_nothing_after_its_end_and_then_moves_on_by_a_step() {
        let cem = Cem { population: 3, elites: 1, iterations: 0, smoothing: 0.1 };
        let (planner, mut rng) = (Planner { cem, horizon: 3, particles: 2 }, stream(1, "plan"));
        let candidates = [0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(planner.costs(&Cliff, &[0.0], &candidates, 3, &mut rng).unwrap(), [-1.0, -2.0, -3.0]);
        let (mut plan, mut action) = ([0.1, 0.2, 0.3], [0.0]);
        planner.decide(&Cliff, (&[0.0], 1), &mut plan, &mut rng, &mut action).unwrap();
        assert_eq!((action, plan), ([0.1], [0.2, 0.3, 0.0]));
    }
}
