//! What both sides train, and with which settings: one line for each, in their words and in ours, with the one value of both.
//!
//! The figures are those of RL-Baselines3-Zoo; what it leaves open has the default of Stable-Baselines3 and is written out.

use super::work::{Setting, Work, both, same, work};

const NET: &str = "policy_kwargs.net_arch";
const ACTIVATION: &str = "policy_kwargs.activation_fn";

const CARTPOLE_DQN: &[Setting] = &[
    same("learning_rate", "2.3e-3"),
    same("batch_size", "64"),
    both("buffer_size", "buffer_capacity", "100000"),
    same("learning_starts", "1000"),
    same("gamma", "0.99"),
    same("tau", "1.0"),
    same("target_update_interval", "10"),
    both("train_freq", "train_frequency", "256"),
    same("gradient_steps", "128"),
    same("exploration_fraction", "0.16"),
    both("exploration_initial_eps", "epsilon_start", "1.0"),
    both("exploration_final_eps", "epsilon_end", "0.04"),
    same("max_grad_norm", "10.0"),
    both(NET, "hidden_sizes", "[256, 256]"),
    both(ACTIVATION, "activation", "\"relu\""),
];

const CARTPOLE_PPO: &[Setting] = &[
    same("learning_rate", "{\"linear\": [1e-3, 0.0]}"),
    both("clip_range", "clip_coef", "{\"linear\": [0.2, 0.0]}"),
    both("n_steps", "num_steps", "32"),
    both("batch_size", "minibatch_size", "256"),
    both("n_epochs", "update_epochs", "20"),
    same("gamma", "0.98"),
    same("gae_lambda", "0.8"),
    same("ent_coef", "0.0"),
    same("vf_coef", "0.5"),
    same("max_grad_norm", "0.5"),
    both(NET, "hidden_sizes", "[64, 64]"),
    both(ACTIVATION, "activation", "\"tanh\""),
];

const ACROBOT_PPO: &[Setting] = &[
    same("learning_rate", "3e-4"),
    both("clip_range", "clip_coef", "0.2"),
    both("n_steps", "num_steps", "256"),
    both("batch_size", "minibatch_size", "64"),
    both("n_epochs", "update_epochs", "4"),
    same("gamma", "0.99"),
    same("gae_lambda", "0.94"),
    same("ent_coef", "0.0"),
    same("vf_coef", "0.5"),
    same("max_grad_norm", "0.5"),
    both(NET, "hidden_sizes", "[64, 64]"),
    both(ACTIVATION, "activation", "\"tanh\""),
];

const PENDULUM_PPO: &[Setting] = &[
    same("learning_rate", "1e-3"),
    both("clip_range", "clip_coef", "0.2"),
    both("n_steps", "num_steps", "1024"),
    both("batch_size", "minibatch_size", "64"),
    both("n_epochs", "update_epochs", "10"),
    same("gamma", "0.9"),
    same("gae_lambda", "0.95"),
    same("ent_coef", "0.0"),
    same("vf_coef", "0.5"),
    same("max_grad_norm", "0.5"),
    both("policy_kwargs.log_std_init", "log_std_init", "0.0"),
    both(NET, "hidden_sizes", "[64, 64]"),
    both(ACTIVATION, "activation", "\"tanh\""),
];

const LUNAR_LANDER_PPO: &[Setting] = &[
    same("learning_rate", "3e-4"),
    both("clip_range", "clip_coef", "0.2"),
    both("n_steps", "num_steps", "1024"),
    both("batch_size", "minibatch_size", "64"),
    both("n_epochs", "update_epochs", "4"),
    same("gamma", "0.999"),
    same("gae_lambda", "0.98"),
    same("ent_coef", "0.01"),
    same("vf_coef", "0.5"),
    same("max_grad_norm", "0.5"),
    both(NET, "hidden_sizes", "[64, 64]"),
    both(ACTIVATION, "activation", "\"tanh\""),
];

const RECURRENT_PPO: &[Setting] = &[
    same("learning_rate", "{\"linear\": [1e-3, 0.0]}"),
    both("clip_range", "clip_coef", "{\"linear\": [0.2, 0.0]}"),
    both("n_steps", "num_steps", "32"),
    // Theirs are cut where episodes end and at minibatches, and a minibatch is a whole rollout here.
    both("", "sequence_length", "32"),
    both("batch_size", "minibatch_size", "256"),
    both("n_epochs", "update_epochs", "20"),
    same("gamma", "0.98"),
    same("gae_lambda", "0.8"),
    same("ent_coef", "0.0"),
    same("vf_coef", "0.5"),
    same("max_grad_norm", "0.5"),
    both("policy_kwargs.lstm_hidden_size", "recurrent_hidden_size", "64"),
    both("policy_kwargs.enable_critic_lstm", "", "true"),
    both("", "hidden_sizes", "[]"),
    both(NET, "head_sizes", "[64]"),
    both(ACTIVATION, "activation", "\"relu\""),
];

const PENDULUM_SAC: &[Setting] = &[
    same("learning_rate", "1e-3"),
    same("batch_size", "256"),
    both("buffer_size", "buffer_capacity", "1000000"),
    same("learning_starts", "100"),
    same("gamma", "0.99"),
    same("tau", "0.005"),
    both("train_freq", "train_frequency", "1"),
    same("gradient_steps", "1"),
    same("ent_coef", "\"auto\""),
    both("policy_kwargs.n_critics", "n_critics", "2"),
    both(NET, "hidden_sizes", "[256, 256]"),
    both(ACTIVATION, "activation", "\"relu\""),
];

const PENDULUM_TQC: &[Setting] = &[
    same("learning_rate", "1e-3"),
    same("batch_size", "256"),
    both("buffer_size", "buffer_capacity", "1000000"),
    same("learning_starts", "100"),
    same("gamma", "0.99"),
    same("tau", "0.005"),
    both("train_freq", "train_frequency", "1"),
    same("gradient_steps", "1"),
    same("ent_coef", "\"auto\""),
    both("policy_kwargs.n_critics", "n_critics", "2"),
    both("policy_kwargs.n_quantiles", "n_quantiles", "25"),
    both("top_quantiles_to_drop_per_net", "top_quantiles_to_drop", "2"),
    both(NET, "hidden_sizes", "[256, 256]"),
    both(ACTIVATION, "activation", "\"relu\""),
];

const PENDULUM_TD3: &[Setting] = &[
    same("learning_rate", "1e-3"),
    same("batch_size", "256"),
    both("buffer_size", "buffer_capacity", "200000"),
    same("learning_starts", "10000"),
    same("gamma", "0.98"),
    same("tau", "0.005"),
    both("train_freq", "train_frequency", "1"),
    same("gradient_steps", "1"),
    both("action_noise", "exploration_noise", "0.1"),
    same("policy_delay", "2"),
    both("target_policy_noise", "target_noise", "0.2"),
    same("target_noise_clip", "0.5"),
    both("", "critic_loss_coef", "2.0"),
    both("policy_kwargs.n_critics", "n_critics", "2"),
    both(NET, "hidden_sizes", "[400, 300]"),
    both(ACTIVATION, "activation", "\"relu\""),
];

const PENDULUM_DDPG: &[Setting] = &[
    same("learning_rate", "1e-3"),
    same("batch_size", "256"),
    both("buffer_size", "buffer_capacity", "200000"),
    same("learning_starts", "10000"),
    same("gamma", "0.98"),
    same("tau", "0.005"),
    both("train_freq", "train_frequency", "1"),
    same("gradient_steps", "1"),
    both("action_noise", "exploration_noise", "0.1"),
    both("", "critic_loss_coef", "2.0"),
    // Their last layers begin like all others.
    both("", "final_layer_bound", "null"),
    both("policy_kwargs.n_critics", "n_critics", "1"),
    both(NET, "hidden_sizes", "[400, 300]"),
    both(ACTIVATION, "activation", "\"relu\""),
];

#[rustfmt::skip]
pub const WORKS: &[Work] = &[
    Work { steps: 50_000, settings: CARTPOLE_DQN, ..work("dqn_cartpole", "DQN, CartPole", "dqn", "CartPole-v1") },
    Work { envs: 8, steps: 100_000, settings: CARTPOLE_PPO, ..work("ppo_cartpole", "PPO, CartPole", "ppo", "CartPole-v1") },
    Work {
        envs: 16, steps: 1_000_000, normalize: true, settings: ACROBOT_PPO, ..work("ppo_acrobot", "PPO, Acrobot", "ppo", "Acrobot-v1")
    },
    Work {
        envs: 4, steps: 100_000, settings: PENDULUM_PPO,
        note: "The zoo has gSDE as well, which PPO lacks here: neither side has it.",
        ..work("ppo_pendulum", "PPO, Pendulum", "ppo", "Pendulum-v1")
    },
    Work { settings: PENDULUM_SAC, ..work("sac_pendulum", "SAC, Pendulum", "sac", "Pendulum-v1") },
    Work { settings: PENDULUM_TD3, ..work("td3_pendulum", "TD3, Pendulum", "td3", "Pendulum-v1") },
    Work { settings: PENDULUM_DDPG, ..work("ddpg_pendulum", "DDPG, Pendulum", "ddpg", "Pendulum-v1") },
    Work { settings: PENDULUM_TQC, ..work("tqc_pendulum", "TQC, Pendulum", "tqc", "Pendulum-v1") },
    Work {
        masked: Some(("CartPoleNoVel-v1", &[0, 2])), envs: 8, steps: 100_000, normalize: true, settings: RECURRENT_PPO,
        note: "Both sides see the two positions alone, and both begin with orthogonal weights, which the zoo switches off.",
        ..work("recurrent_ppo_cartpole_novel", "recurrent PPO, CartPole without velocities", "recurrent_ppo", "CartPole-v1")
    },
    Work {
        envs: 16, steps: 1_000_000, settings: LUNAR_LANDER_PPO,
        ..work("ppo_lunarlander", "PPO, LunarLander", "ppo", "LunarLander-v3")
    },
];
