//! Where episodes are written to.

use crate::failure::Failure;
use axiomrl_data::{EpisodeReader, minari, npz};
use clap::Args;
use std::path::{Path, PathBuf};

/// One of two formats.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Choice {
    /// Writes a file of numpy arrays
    #[arg(short, long, value_name = "FILE.npz")]
    output: Option<PathBuf>,
    /// Writes a Minari dataset of this id, as `namespace/name-v0`
    #[arg(long, value_name = "ID")]
    minari: Option<String>,
}

#[derive(Args)]
pub struct Root {
    /// The folder of Minari's datasets [default: MINARI_DATASETS_PATH, or ~/.minari/datasets]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl Root {
    pub fn folder(&self) -> Result<PathBuf, Failure> {
        self.root.clone().or_else(minari::root).ok_or_else(|| {
            Failure::bad_input("there is no home folder to keep Minari's datasets in; say where with --root DIR")
        })
    }
}

/// Where to write to; what can be known to be wrong with it has been refused.
pub enum Target {
    Npz(PathBuf),
    Minari { root: PathBuf, id: String },
}

impl Target {
    pub fn of(choice: Choice, root: &Root) -> Result<Self, Failure> {
        match (choice.output, choice.minari) {
            (Some(path), _) => Self::npz(path),
            (None, id) => Self::minari(id.unwrap_or_default(), root),
        }
    }

    /// A path that ends in `.npz`, or else a Minari id.
    pub fn guess(text: &str, root: &Root) -> Result<Self, Failure> {
        if has_npz_ending(Path::new(text)) {
            return Self::npz(text.into());
        }
        Self::minari(text.to_owned(), root)
    }

    fn npz(path: PathBuf) -> Result<Self, Failure> {
        let bad = |problem: &str| Err(Failure::bad_input(format!("{}: {problem}", path.display())));
        if !has_npz_ending(&path) {
            return bad("the name of a file of numpy arrays ends in .npz; for a Minari dataset use --minari ID");
        }
        if path.is_dir() {
            return bad("it is a folder; give the name of a file");
        }
        if path.parent().is_some_and(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
            return bad("there is no such folder to write to; make it, or choose another");
        }
        Ok(Self::Npz(path))
    }

    pub fn minari(id: String, root: &Root) -> Result<Self, Failure> {
        minari::check_id(&id)?;
        let root = root.folder()?;
        let folder = root.join(&id);
        if folder.exists() {
            let problem = "there is a dataset of that id already; choose another, or remove the folder";
            return Err(Failure::bad_input(format!("{}: {problem}", folder.display())));
        }
        Ok(Self::Minari { root, id })
    }

    /// Writes all episodes, and says where they are.
    pub fn write(&self, reader: &mut dyn EpisodeReader) -> Result<PathBuf, Failure> {
        match self {
            Self::Npz(path) => npz::write(path, reader).map(|()| path.clone()),
            Self::Minari { root, id } => minari::write(root, id, reader),
        }
        .map_err(Failure::from)
    }
}

fn has_npz_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz"))
}
