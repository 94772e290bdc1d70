//! A whole SAC update: critics, actor, temperature, target critics.

use crate::small::{adam, net, training_flops};
use crate::timing::{Work, wave};
use axiomrl_nn::{
    Activation, Adam, LogStdBounds, Mlp, Tensor, fused_loss, gradients, leaf, tanh_gaussian, tanh_gaussian_sample,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

const OBS: usize = 17;
const ACTIONS: usize = 6;
const JOINT: usize = OBS + ACTIONS;
const BOUNDS: LogStdBounds = LogStdBounds::Clamp(-20.0, 2.0);
const RATE: f32 = 1e-5;

#[derive(Clone, Copy)]
pub struct SacShape {
    pub width: usize,
    pub rows: usize,
    pub critics: usize,
}

impl Default for SacShape {
    fn default() -> Self {
        Self { width: 256, rows: 256, critics: 2 }
    }
}

struct Sac {
    shape: SacShape,
    actor: Mlp,
    critic: Mlp,
    critic_target: Mlp,
    actor_adam: Adam,
    critic_adam: Adam,
    log_alpha: Alpha,
    rng: ChaCha8Rng,
    obs: Vec<f32>,
    joint: Vec<f32>,
    next_joint: Vec<f32>,
    noise: Vec<f32>,
    head: Vec<f32>,
    action: Vec<f32>,
    log_prob: Vec<f32>,
    q: Vec<f32>,
    goal: Vec<f32>,
}

/// The temperature's logarithm with an Adam of its own.
#[derive(Default)]
struct Alpha {
    log: f32,
    mean: f32,
    square: f32,
    steps: i32,
}

impl Alpha {
    fn step(&mut self, gradient: f32) {
        self.steps += 1;
        self.mean += 0.1 * (gradient - self.mean);
        self.square += 0.001 * (gradient * gradient - self.square);
        let (mean, square) =
            (self.mean / (1.0 - 0.9f32.powi(self.steps)), self.square / (1.0 - 0.999f32.powi(self.steps)));
        self.log -= RATE * mean / (square.sqrt() + 1e-8);
    }
}

/// The lowest critic of a row: its place in `q` `[critics, rows]`.
fn least(q: &[f32], row: usize, rows: usize) -> usize {
    (row..q.len()).step_by(rows).fold(row, |best, i| if q[i] < q[best] { i } else { best })
}

impl Sac {
    fn new(shape: SacShape) -> Self {
        let SacShape { width, rows, critics } = shape;
        let actor = net(OBS, width, 2 * ACTIONS, Activation::Relu, 1);
        let critic = net(JOINT, width, 1, Activation::Relu, critics);
        Self {
            shape,
            actor_adam: adam(&actor),
            critic_adam: adam(&critic),
            critic_target: critic.clone(),
            actor,
            critic,
            log_alpha: Alpha::default(),
            rng: ChaCha8Rng::seed_from_u64(3),
            obs: wave(rows * OBS),
            joint: wave(rows * JOINT),
            next_joint: vec![0.0; rows * JOINT],
            noise: vec![0.0; rows * ACTIONS],
            head: Vec::new(),
            action: vec![0.0; rows * ACTIONS],
            log_prob: vec![0.0; rows],
            q: Vec::new(),
            goal: vec![0.0; rows],
        }
    }

    /// Products with weights only. Gradients with respect to data, which are constants of the graph, and those of the critics'
    /// weights in the actor's loss are not computed.
    fn flops(&self) -> f64 {
        let rows = self.shape.rows;
        let (actor, critic) =
            (self.actor.spec.flops(rows) as f64, self.shape.critics as f64 * self.critic.spec.flops(rows) as f64);
        let critic_work = critic + training_flops(&self.critic, rows) + 2.0 * critic;
        critic_work + actor + training_flops(&self.actor, rows)
    }

    fn update(&mut self) {
        self.find_goals();
        self.update_critics();
        let entropy = self.update_actor();
        // The entropy to aim for is minus the number of actions.
        self.log_alpha.step(entropy + ACTIONS as f32);
        self.critic_target.params.polyak_from(&self.critic.params, 0.005);
    }

    fn draw_noise(&mut self) {
        let rng = &mut self.rng;
        self.noise.iter_mut().for_each(|noise| *noise = StandardNormal.sample(rng));
    }

    fn find_goals(&mut self) {
        let rows = self.shape.rows;
        self.draw_noise();
        self.actor.infer(&self.obs, rows, &mut self.head);
        tanh_gaussian_sample(&self.head, &self.noise, BOUNDS, &mut self.action, &mut self.log_prob);
        for row in 0..rows {
            let joint = &mut self.next_joint[row * JOINT..(row + 1) * JOINT];
            joint[..OBS].copy_from_slice(&self.obs[row * OBS..(row + 1) * OBS]);
            joint[OBS..].copy_from_slice(&self.action[row * ACTIONS..(row + 1) * ACTIONS]);
        }
        self.critic_target.infer(&self.next_joint, rows, &mut self.q);
        let alpha = self.log_alpha.log.exp();
        for row in 0..rows {
            let value = self.q[least(&self.q, row, rows)] - alpha * self.log_prob[row];
            self.goal[row] = 0.1 + 0.99 * value;
        }
    }

    fn update_critics(&mut self) {
        let (rows, goal) = (self.shape.rows, &self.goal);
        let params = self.critic.params.tracked();
        let values = self.critic.forward(leaf(&self.joint, [rows, JOINT]), params.clone(), None);
        let loss = fused_loss([values], |[q]| {
            let errors: Vec<f32> = q.iter().enumerate().map(|(i, q)| (q - goal[i % rows]) / rows as f32).collect();
            (errors.iter().map(|e| e * e).sum(), [errors])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        self.critic_adam.step(&mut self.critic.params, &gradient, RATE);
    }

    /// Returns the mean entropy of the drawn actions, by their own log-densities.
    fn update_actor(&mut self) -> f32 {
        let (rows, d, critics) = (self.shape.rows, ACTIONS, self.shape.critics);
        let alpha = self.log_alpha.log.exp();
        self.draw_noise();
        let params = self.actor.params.tracked();
        let x = leaf(&self.obs, [rows, OBS]);
        let heads = self.actor.forward(x.clone(), params.clone(), None).reshape([rows, 2 * d]);
        let drawn = tanh_gaussian(heads, &self.noise, BOUNDS);
        let pair = Tensor::cat(vec![x, drawn.clone().slice([0..rows, 0..d])], 1);
        let values = self.critic.forward(pair, self.critic.params.frozen(), None).reshape([critics * rows, 1]);
        let mut entropy = 0.0;
        let loss = fused_loss([drawn, values], |[drawn, q]| {
            let (mut loss, mut dd, mut dq) = (0.0, vec![0.0; drawn.len()], vec![0.0; q.len()]);
            for row in 0..rows {
                let log_prob = drawn[row * (d + 1) + d];
                let least = least(q, row, rows);
                entropy -= log_prob / rows as f32;
                loss += (alpha * log_prob - q[least]) / rows as f32;
                dd[row * (d + 1) + d] = alpha / rows as f32;
                dq[least] = -1.0 / rows as f32;
            }
            (loss, [dd, dq])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        self.actor_adam.step(&mut self.actor.params, &gradient, RATE);
        entropy
    }
}

pub fn work(shape: SacShape) -> Work {
    let mut sac = Sac::new(shape);
    let SacShape { width, rows, critics } = shape;
    let title = format!("SAC update, batch {rows}, {width}x{width}, {critics} critics");
    Work::new(title, sac.flops(), move || sac.update())
}
