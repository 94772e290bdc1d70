//! Learning to act on what was seen earlier.

mod actor_critic;
mod config;
mod drqn;
mod minibatches;
mod q_learner;
mod q_loss;
mod q_net;
mod recurrent_ppo;
mod torso;

pub use config::DrqnConfig;
pub use drqn::Drqn;
pub use recurrent_ppo::{RecurrentPpo, RecurrentPpoConfig};
