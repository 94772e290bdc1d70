//! What can go wrong with stores and what is drawn from them.

use axiomrl_envs::EnvError;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store has no complete window to sample yet")]
    NothingReady,
    #[error("`n_sampled_goal` goes with `n_step: 1`")]
    RelabelledWindow,
    /// A setting that no store can follow.
    #[error("{0}")]
    Invalid(String),
    /// Rows of this source do not fit into the batch.
    #[error(
        "{0}: two sources that are mixed must have the same observations, actions and masks; make both for the same \
         environment"
    )]
    Shape(String),
    /// The rules of the task gave up while goals were exchanged.
    #[error("the rules of the task failed on relabelled transitions: {0}")]
    Rules(#[source] EnvError),
    /// What is wrong with a dataset, and where; both are counted from 0.
    #[error("dataset, episode {episode}{}: {problem}", step.map(|step| format!(", step {step}")).unwrap_or_default())]
    Dataset { episode: usize, step: Option<usize>, problem: String },
}
