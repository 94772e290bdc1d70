//! What can go wrong with recorded data. Every message names the file and says what to do.

use axiomrl_core::StoreError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The file as a whole is not what it should be.
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    /// One array of a file is missing or has the wrong form.
    #[error("{}: `{key}` {problem}", path.display())]
    Key { path: PathBuf, key: String, problem: String },
    /// What is wrong with the numbers, and where; both are counted from 0.
    #[error("{name}, episode {episode}{}: {problem}", step.map(|step| format!(", step {step}")).unwrap_or_default())]
    Content { name: String, episode: usize, step: Option<usize>, problem: String },
    #[error("{name}: it holds no step; record some, or name another file")]
    Empty { name: String },
    /// The data is of another environment.
    #[error("{name}: {problem}")]
    Spaces { name: String, problem: String },
    /// A request that cannot be met.
    #[error("{0}")]
    Invalid(String),
}

impl DataError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }

    pub(crate) fn file(path: &Path, problem: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into() }
    }

    pub(crate) fn key(path: &Path, key: &str, problem: impl Into<String>) -> Self {
        Self::Key { path: path.to_owned(), key: key.to_owned(), problem: problem.into() }
    }

    pub(crate) fn store(name: &str, error: StoreError) -> Self {
        let name = name.to_owned();
        match error {
            StoreError::Dataset { episode, step, problem } => Self::Content { name, episode, step, problem },
            other => Self::Spaces { name, problem: other.to_string() },
        }
    }
}
