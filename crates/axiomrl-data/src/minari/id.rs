//! Where datasets lie, and what they may be called.

use super::metadata::METADATA;
use crate::DataError;
use std::env;
use std::path::{Path, PathBuf};

/// `MINARI_DATASETS_PATH`, or `~/.minari/datasets`.
pub fn root() -> Option<PathBuf> {
    match env::var_os("MINARI_DATASETS_PATH") {
        Some(path) => Some(path.into()),
        None => Some(env::home_dir()?.join(".minari").join("datasets")),
    }
}

/// The `data` folder that a path means: the folder itself, its parent, or one below the [`root`] by its id.
pub fn find(path_or_id: &Path) -> Result<PathBuf, DataError> {
    find_below(path_or_id, root().as_deref())
}

pub(super) fn find_below(path_or_id: &Path, root: Option<&Path>) -> Result<PathBuf, DataError> {
    let mut places = vec![path_or_id.to_owned()];
    if path_or_id.is_relative() {
        places.extend(root.map(|root| root.join(path_or_id)));
    }
    let candidates = places.iter().flat_map(|place| [place.clone(), place.join("data")]);
    for folder in candidates.filter(|folder| folder.is_dir()) {
        if folder.join(METADATA).is_file() {
            return Ok(folder);
        }
        if folder.join("main_data.hdf5").is_file() {
            let problem = format!("has no `{METADATA}`, so it was written by Minari 0.4; write it anew with 0.5");
            return Err(DataError::file(&folder, problem));
        }
    }
    if path_or_id.is_dir() {
        return Err(DataError::file(
            path_or_id,
            format!("is no folder of Minari: neither it nor its `data` has a `{METADATA}`"),
        ));
    }
    let below = match (path_or_id.is_relative(), root) {
        (true, Some(root)) => format!(", nor is there a dataset of that id below {}", root.display()),
        _ => String::new(),
    };
    Err(DataError::file(path_or_id, format!("there is no such file or folder{below} (nothing is downloaded)")))
}

/// Refuses an id that Minari does not take: `(namespace/)*name-v<number>`, of letters, digits, `_` and `-`.
pub fn check_id(id: &str) -> Result<(), DataError> {
    let refused = |problem: &str| {
        let form = "an id is `(namespace/)name-v<number>`, as `pendulum/expert-v0`";
        Err(DataError::Invalid(format!("dataset id `{id}`: {problem}; {form}")))
    };
    let (namespace, name) = id.rsplit_once('/').map_or((None, id), |(namespace, name)| (Some(namespace), name));
    let allowed =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let Some((stem, version)) = name.rsplit_once("-v") else {
        return refused("it has no version");
    };
    if version.is_empty() || version.len() > 9 || !version.chars().all(|c| c.is_ascii_digit()) {
        return refused("its version is no number");
    }
    if !allowed(stem) || !namespace.is_none_or(|namespace| namespace.split('/').all(allowed)) {
        return refused("only letters, digits, `_` and `-` are allowed, and none of its names may be empty");
    }
    if namespace.is_some_and(|namespace| namespace.len() < 2) {
        return refused("its namespace needs two characters or more");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ids_are_those_that_minari_takes() {
        for id in ["pendulum/expert-v0", "D4RL/door/human-v2", "a-v0", "a/b/c-v1", "x_y-z-v10", "ab/n-v-v3"] {
            check_id(id).unwrap();
        }
        for (id, words) in [
            ("pendulum/expert", "no version"),
            ("", "no version"),
            ("expert-v", "no number"),
            ("expert-vx", "no number"),
            ("expert-v99999999999", "no number"),
            ("a/b-v0", "two characters"),
            ("/b-v0", "only letters"),
            ("ab//b-v0", "only letters"),
            ("../b-v0", "only letters"),
            ("ab/-v0", "only letters"),
            ("ab c-v0", "only letters"),
            ("é-v0", "only letters"),
        ] {
            let error = check_id(id).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(&format!("`{id}`")), "{error}");
        }
    }

    #[test]
    fn a_folder_is_found_by_itself_by_its_parent_and_by_its_id() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("ns/name-v0/data");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join(METADATA), "{}").unwrap();
        let find = |path: &Path| find_below(path, Some(root.path()));
        for path in [data.clone(), data.parent().unwrap().to_owned(), PathBuf::from("ns/name-v0")] {
            assert_eq!(find(&path).unwrap(), data);
        }
        for (path, words) in [
            (PathBuf::from("ns/other-v0"), "nor is there a dataset of that id below"),
            (root.path().join("ns"), "is no folder of Minari"),
            (root.path().join("none"), "there is no such file or folder (nothing is downloaded)"),
        ] {
            let error = find(&path).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let old = root.path().join("ns/old-v0/data");
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("main_data.hdf5"), "").unwrap();
        let error = find(&old).unwrap_err().to_string();
        assert!(error.contains("written by Minari 0.4"), "{error}");
    }
}
