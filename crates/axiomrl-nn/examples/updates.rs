//! Times the updates that matter, in microseconds: `cargo run --release -p axiomrl-nn --example updates [threads] [part]`.
//!
//! Runs inside a two-thread pool, as training does. Best of several rounds; compare figures of one run only.

use axiomrl_nn::{
    Activation, Adam, AdamConfig, CellKind, ConvNet, ConvSpec, Distribution, Init, LogStdBounds, Mlp, MlpSpec,
    Recurrent, RecurrentSpec, Tensor, clip_scale, fused_loss, global_norm, gradients, leaf, tanh_gaussian,
    tanh_gaussian_sample,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::time::Instant;

/// Best time per call, in microseconds.
fn time(name: &str, calls: usize, mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..calls {
            f();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
    }
    println!("{name:<44} {best:>10.2} us");
    best
}

fn net(inputs: usize, hidden: usize, outputs: usize, activation: Activation, members: usize) -> Mlp {
    let spec = MlpSpec::new(inputs, &[hidden, hidden], outputs, activation);
    Mlp::new(spec, members, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(1))
}

fn adam(net: &Mlp) -> Adam {
    Adam::new(net.params.as_slice().len(), AdamConfig::default())
}

fn wave(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.37).sin()).collect()
}

fn inference() {
    let net = net(4, 64, 2, Activation::Tanh, 1);
    let (x, mut out) = (wave(4), Vec::new());
    time("inference, batch 1, 4-64-64-2 tanh", 20_000, || net.infer(black_box(&x), 1, &mut out));
    let (x, mut out) = (wave(8 * 4), Vec::new());
    time("inference, batch 8, 4-64-64-2 tanh", 5_000, || net.infer(black_box(&x), 8, &mut out));
}

fn dqn() {
    let rows = 64;
    let mut online = net(4, 64, 2, Activation::Relu, 1);
    let target = online.clone();
    let mut adam = adam(&online);
    let (obs, next_obs) = (wave(rows * 4), wave(rows * 4 + 1)[1..].to_vec());
    let mut next_q = Vec::new();
    time("DQN update, batch 64, 4-64-64-2", 1_000, || {
        target.infer(&next_obs, rows, &mut next_q);
        let params = online.params.tracked();
        let q = online.forward(leaf(&obs, [rows, 4]), params.clone(), None);
        let loss = fused_loss([q], |[q]| {
            let (mut loss, mut gradient) = (0.0, vec![0.0; q.len()]);
            for row in 0..rows {
                let goal = 0.1 + 0.99 * next_q[2 * row].max(next_q[2 * row + 1]);
                let error = q[2 * row] - goal;
                loss += 0.5 * error * error / rows as f32;
                gradient[2 * row] = error / rows as f32;
            }
            (loss, [gradient])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = global_norm(&[&gradient]);
        adam.step_scaled(&mut online.params, &gradient, 1e-4, clip_scale(norm, 10.0));
    });
}

fn ppo() {
    let rows = 64;
    let (mut policy, mut value) = (net(4, 64, 2, Activation::Tanh, 1), net(4, 64, 1, Activation::Tanh, 1));
    let (mut policy_adam, mut value_adam) = (adam(&policy), adam(&value));
    let family = Distribution::Categorical { n: 2 };
    let (obs, advantage, returns) = (wave(rows * 4), wave(rows), wave(rows));
    time("PPO minibatch, batch 64, two 64x64 tanh nets", 1_000, || {
        let (p, v) = (policy.params.tracked(), value.params.tracked());
        let x = leaf(&obs, [rows, 4]);
        let outputs = [policy.forward(x.clone(), p.clone(), None), value.forward(x, v.clone(), None)];
        let loss = fused_loss(outputs, |[head, values]| {
            let (share, mut kept) = (1.0 / rows as f32, [0.0; 4]);
            let (mut loss, mut dh, mut dv) = (0.0, vec![0.0; head.len()], vec![0.0; rows]);
            for row in 0..rows {
                let (head, dh) = (&head[2 * row..2 * row + 2], &mut dh[2 * row..2 * row + 2]);
                let action = [(row % 2) as f32];
                let (log_prob, entropy) = family.log_prob_entropy(head, &[], &[], &action, &mut kept);
                let gain = (log_prob + 0.7).exp() * advantage[row];
                loss -= share * (gain + 0.01 * entropy);
                family.d_log_prob_entropy(&[], &action, &kept, -share * gain, -0.01 * share, dh, &mut []);
                let error = values[row] - returns[row];
                loss += 0.25 * share * error * error;
                dv[row] = 0.5 * share * error;
            }
            (loss, [dh, dv])
        });
        let [dp, dv] = gradients(loss, [&p, &v]);
        drop((p, v));
        let scale = clip_scale(global_norm(&[&dp, &dv]), 0.5);
        policy_adam.step_scaled(&mut policy.params, &dp, 3e-5, scale);
        value_adam.step_scaled(&mut value.params, &dv, 3e-5, scale);
    });
}

/// Returns time and floating-point operations of one update.
fn sac() -> (f64, f64) {
    let (rows, obs_width, d) = (256, 17, 6);
    let joint_width = obs_width + d;
    let bounds = LogStdBounds::Clamp(-20.0, 2.0);
    let mut actor = net(obs_width, 256, 2 * d, Activation::Relu, 1);
    let mut critic = net(joint_width, 256, 1, Activation::Relu, 2);
    let mut critic_target = critic.clone();
    let (mut actor_adam, mut critic_adam) = (adam(&actor), adam(&critic));
    let (obs, eps, joint) = (wave(rows * obs_width), wave(rows * d), wave(rows * joint_width));
    let (mut head, mut action, mut log_prob, mut q) = (Vec::new(), vec![0.0; rows * d], vec![0.0; rows], Vec::new());
    let mut next_joint = vec![0.0; rows * joint_width];

    let time = time("SAC update, batch 256, 256x256, two critics", 10, || {
        actor.infer(&obs, rows, &mut head);
        tanh_gaussian_sample(&head, &eps, bounds, &mut action, &mut log_prob);
        for row in 0..rows {
            let joint = &mut next_joint[row * joint_width..(row + 1) * joint_width];
            joint[..obs_width].copy_from_slice(&obs[row * obs_width..(row + 1) * obs_width]);
            joint[obs_width..].copy_from_slice(&action[row * d..(row + 1) * d]);
        }
        critic_target.infer(&next_joint, rows, &mut q);
        let goal: Vec<f32> =
            (0..rows).map(|row| 0.1 + 0.99 * (q[row].min(q[rows + row]) - 0.2 * log_prob[row])).collect();

        let params = critic.params.tracked();
        let values = critic.forward(leaf(&joint, [rows, joint_width]), params.clone(), None);
        let loss = fused_loss([values], |[q]| {
            let errors: Vec<f32> = q.iter().enumerate().map(|(i, q)| (q - goal[i % rows]) / rows as f32).collect();
            (errors.iter().map(|e| e * e).sum(), [errors])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        critic_adam.step(&mut critic.params, &gradient, 1e-5);

        let params = actor.params.tracked();
        let x = leaf(&obs, [rows, obs_width]);
        let heads = actor.forward(x.clone(), params.clone(), None).reshape([rows, 2 * d]);
        let drawn = tanh_gaussian(heads, &eps, bounds);
        let pair = Tensor::cat(vec![x, drawn.clone().slice([0..rows, 0..d])], 1);
        let values = critic.forward(pair, critic.params.frozen(), None).reshape([2 * rows, 1]);
        let loss = fused_loss([drawn, values], |[drawn, q]| {
            let (mut loss, mut dd, mut dq) = (0.0, vec![0.0; drawn.len()], vec![0.0; q.len()]);
            for row in 0..rows {
                let log_prob = drawn[row * (d + 1) + d];
                let least = if q[row] < q[rows + row] { row } else { rows + row };
                loss += (0.2 * log_prob - q[least]) / rows as f32;
                dd[row * (d + 1) + d] = 0.2 / rows as f32;
                dq[least] = -1.0 / rows as f32;
            }
            (loss, [dd, dq])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        actor_adam.step(&mut actor.params, &gradient, 1e-5);
        critic_target.params.polyak_from(&critic.params, 0.005);
    });
    // Weight products only; gradients with respect to data (constants of the graph) are not computed.
    let (a, c) = (actor.spec.flops(rows) as f64, 2.0 * critic.spec.flops(rows) as f64);
    let first = |net: &Mlp| 2.0 * (rows * net.spec.inputs * 256) as f64;
    let critic_work = c + (3.0 * c - 2.0 * first(&critic)) + 2.0 * c;
    let actor_work = a + (3.0 * a - first(&actor));
    (time, critic_work + actor_work)
}

/// A recurrent network forward and backward, inputs included; one step of it, as when acting.
fn recurrence(kind: CellKind) {
    let (steps, rows, inputs, hidden) = (16, 32, 64, 64);
    let net = Recurrent::new(RecurrentSpec::new(kind, inputs, hidden), &mut ChaCha8Rng::seed_from_u64(1));
    let (data, width) = (wave(steps * rows * inputs), net.spec.state_width());
    let (resets, start) = (vec![false; steps * rows], vec![0.0; rows * width]);
    let took = time(&format!("{kind:?} 64, batch 32, 16 steps, fwd + bwd"), 50, || {
        let params = net.params.tracked();
        let x = leaf(&data, [steps, rows, inputs]).require_grad();
        let y = net.forward(x, params.clone(), &resets, leaf(&start, [rows, width]));
        let loss = fused_loss([y], |[y]| (y.iter().sum(), [vec![1.0 / y.len() as f32; y.len()]]));
        black_box(gradients(loss, [&params]));
    });
    let flops = 3.0 * net.spec.flops(steps * rows) as f64;
    println!("{:<44} {:>10.1} GFLOP/s", "", flops / took / 1e3);
    let (mut state, mut out) = (vec![0.0; width], Vec::new());
    time(&format!("{kind:?} 64, batch 1, one step"), 5_000, || {
        net.infer(black_box(&data[..inputs]), 1, 1, &[false], &mut state, &mut out);
    });
}

/// Nature-CNN with its linear layer of 512, forward and backward, from bytes.
fn nature() {
    let rows = 32;
    let net = ConvNet::new(ConvSpec::nature([84, 84, 4]), &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(1));
    let head = MlpSpec::new(net.spec.features(), &[], 512, Activation::Relu);
    let head = Mlp::new(head, 1, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(2));
    let frames: std::sync::Arc<[u8]> = (0..rows * 84 * 84 * 4).map(|i| (i * 31 % 256) as u8).collect();
    let took = time("Nature-CNN, batch 32, fwd + bwd", 5, || {
        let (encoder, linear) = (net.params.tracked(), head.params.tracked());
        let features = net.forward_u8(frames.clone(), rows, encoder.clone());
        let y = head.forward(features, linear.clone(), None);
        let loss = fused_loss([y], |[y]| (y.iter().sum(), [vec![1.0 / y.len() as f32; y.len()]]));
        black_box(gradients(loss, [&encoder, &linear]));
    });
    let first = 2.0 * (rows * 20 * 20 * 256 * 32) as f64;
    let flops = 3.0 * (net.spec.flops(rows) + head.spec.flops(rows)) as f64 - first;
    println!("{:<44} {:>10.1} GFLOP/s", "", flops / took / 1e3);
    let (mut out, one) = (Vec::new(), &frames[..84 * 84 * 4]);
    time("Nature-CNN encoder, batch 1, inference", 50, || net.infer_u8(black_box(one), 1, &mut out));
}

fn gemm_peak() -> f64 {
    let n = 256;
    let (a, b) = (wave(n * n), wave(n * n));
    let product = |c: &mut [f32]| {
        let stride = n as isize;
        // SAFETY: all three matrices hold n*n values, which the strides address exactly.
        unsafe {
            gemm::gemm(
                n,
                n,
                n,
                c.as_mut_ptr(),
                1,
                stride,
                false,
                a.as_ptr(),
                1,
                stride,
                b.as_ptr(),
                1,
                stride,
                0.0f32,
                1.0f32,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    };
    let (mut first, mut second) = (vec![0.0; n * n], vec![0.0; n * n]);
    let flops = 2.0 * (n * n * n) as f64;
    let one = time("gemm 256x256x256, one thread", 20, || product(&mut first));
    println!("{:<44} {:>10.1} GFLOP/s", "", flops / one / 1e3);
    let two = time("two of them in two threads", 20, || {
        rayon::join(|| product(&mut first), || product(&mut second));
    });
    println!("{:<44} {:>10.1} GFLOP/s", "", 2.0 * flops / two / 1e3);
    2.0 * flops / two
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments.next().and_then(|t| t.parse().ok()).unwrap_or(2);
    // A second argument picks one part: inference, dqn, ppo, recurrent, conv or sac.
    let only = arguments.next();
    let wants = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    pool.install(|| {
        if wants("inference") {
            inference();
        }
        if wants("dqn") {
            dqn();
        }
        if wants("ppo") {
            ppo();
        }
        if wants("recurrent") {
            recurrence(CellKind::Lstm);
            recurrence(CellKind::Gru);
        }
        if wants("conv") {
            nature();
        }
        if wants("sac") {
            let peak = gemm_peak();
            let (time, flops) = sac();
            println!("{:<44} {:>10.1} GFLOP/s, {:.0} % of peak", "", flops / time / 1e3, 100.0 * flops / time / peak);
        }
    });
}
