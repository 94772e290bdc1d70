//! Networks of 64x64: acting, a DQN update, a PPO minibatch.

use crate::timing::{Work, wave};
use axiomrl_nn::losses::{ErrorLoss, td_loss};
use axiomrl_nn::{
    Activation, Adam, AdamConfig, Distribution, Init, Mlp, MlpSpec, clip_scale, fused_loss, global_norm, gradients,
    leaf,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

pub fn net(inputs: usize, hidden: usize, outputs: usize, activation: Activation, members: usize) -> Mlp {
    let spec = MlpSpec::new(inputs, &[hidden, hidden], outputs, activation);
    Mlp::new(spec, members, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(1))
}

pub fn adam(net: &Mlp) -> Adam {
    Adam::new(net.params.as_slice().len(), AdamConfig::default())
}

/// Operations of forward and backward where the gradient with respect to the input is not needed.
pub fn training_flops(net: &Mlp, rows: usize) -> f64 {
    let first = 2 * rows * net.spec.inputs * net.spec.hidden[0];
    net.params.members() as f64 * (3 * net.spec.flops(rows) - first) as f64
}

pub fn inference(rows: usize) -> Work {
    let net = net(4, 64, 2, Activation::Tanh, 1);
    let (x, mut out) = (wave(rows * 4), Vec::new());
    let flops = net.spec.flops(rows) as f64;
    Work::new(format!("inference, batch {rows}, 4-64-64-2 tanh"), flops, move || {
        net.infer(black_box(&x), rows, &mut out);
    })
}

pub fn dqn() -> Work {
    let rows = 64;
    let mut online = net(4, 64, 2, Activation::Relu, 1);
    let target = online.clone();
    let mut adam = adam(&online);
    let (obs, next_obs, reward) = (wave(rows * 4), wave(rows * 4 + 1)[1..].to_vec(), wave(rows));
    let chosen: Vec<f32> = (0..rows).map(|row| (row % 2) as f32).collect();
    let (mut next_q, mut goal, mut errors) = (Vec::new(), vec![0.0; rows], vec![0.0; rows]);
    let flops = training_flops(&online, rows) + target.spec.flops(rows) as f64;
    Work::new("DQN update, batch 64, 4-64-64-2", flops, move || {
        target.infer(&next_obs, rows, &mut next_q);
        for row in 0..rows {
            goal[row] = reward[row] + 0.99 * next_q[2 * row].max(next_q[2 * row + 1]);
        }
        let params = online.params.tracked();
        let q = online.forward(leaf(&obs, [rows, 4]), params.clone(), None);
        let loss = fused_loss([q], |[q]| {
            let mut gradient = vec![0.0; q.len()];
            let loss = td_loss(ErrorLoss::Huber(1.0), q, &chosen, &goal, &[], &mut errors, &mut gradient);
            (loss, [gradient])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = global_norm(&[&gradient]);
        adam.step_scaled(&mut online.params, &gradient, 1e-4, clip_scale(norm, 10.0));
    })
}

/// A minibatch of data that stays the same.
struct PpoData {
    obs: Vec<f32>,
    advantage: Vec<f32>,
    returns: Vec<f32>,
}

/// The clipped objective with value and entropy terms, and its gradients.
fn ppo_loss(data: &PpoData, head: &[f32], values: &[f32]) -> (f32, [Vec<f32>; 2]) {
    let rows = values.len();
    let family = Distribution::Categorical { n: 2 };
    let (share, mut kept) = (1.0 / rows as f32, [0.0; 4]);
    let mean = share * data.advantage.iter().sum::<f32>();
    let squares: f32 = data.advantage.iter().map(|a| (a - mean) * (a - mean)).sum();
    let deviation = (squares / (rows - 1) as f32).sqrt() + 1e-8;
    let (mut loss, mut dh, mut dv) = (0.0, vec![0.0; head.len()], vec![0.0; rows]);
    for row in 0..rows {
        let (head, dh) = (&head[2 * row..2 * row + 2], &mut dh[2 * row..2 * row + 2]);
        let action = [(row % 2) as f32];
        let (log_prob, entropy) = family.log_prob_entropy(head, &[], &[], &action, &mut kept);
        let advantage = (data.advantage[row] - mean) / deviation;
        let ratio = (log_prob + 0.7).exp();
        let (free, clipped) = (ratio * advantage, ratio.clamp(0.8, 1.2) * advantage);
        loss -= share * (free.min(clipped) + 0.01 * entropy);
        let slope = if free <= clipped { free } else { 0.0 };
        family.d_log_prob_entropy(&[], &action, &kept, -share * slope, -0.01 * share, dh, &mut []);
        let error = values[row] - data.returns[row];
        loss += 0.25 * share * error * error;
        dv[row] = 0.5 * share * error;
    }
    (loss, [dh, dv])
}

pub fn ppo() -> Work {
    let rows = 64;
    let (mut policy, mut value) = (net(4, 64, 2, Activation::Tanh, 1), net(4, 64, 1, Activation::Tanh, 1));
    let (mut policy_adam, mut value_adam) = (adam(&policy), adam(&value));
    let data = PpoData { obs: wave(rows * 4), advantage: wave(rows), returns: wave(rows) };
    let flops = training_flops(&policy, rows) + training_flops(&value, rows);
    Work::new("PPO minibatch, batch 64, two 64x64 tanh nets", flops, move || {
        let (p, v) = (policy.params.tracked(), value.params.tracked());
        let x = leaf(&data.obs, [rows, 4]);
        let outputs = [policy.forward(x.clone(), p.clone(), None), value.forward(x, v.clone(), None)];
        let loss = fused_loss(outputs, |[head, values]| ppo_loss(&data, head, values));
        let [dp, dv] = gradients(loss, [&p, &v]);
        drop((p, v));
        let scale = clip_scale(global_norm(&[&dp, &dv]), 0.5);
        policy_adam.step_scaled(&mut policy.params, &dp, 3e-5, scale);
        value_adam.step_scaled(&mut value.params, &dv, 3e-5, scale);
    })
}
