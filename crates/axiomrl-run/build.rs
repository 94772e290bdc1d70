//! Embeds every `configs/<algo>/<env>.yaml` of the repository, so that the binary needs no files beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const CONFIGS: &str = "../../configs";

fn main() -> io::Result<()> {
    // Asked for when run, not when compiled: a build folder can be shared by several copies of the repository.
    let here = env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("cargo sets CARGO_MANIFEST_DIR"))?;
    let root = Path::new(&here).join(CONFIGS).canonicalize()?;
    // A folder's time stamp changes when a file is added to it or removed, a file's when it is edited.
    watch("");
    let mut table = String::from("static PACKAGED: &[Packaged] = &[\n");
    for folder in entries(&root)?.into_iter().filter(|path| path.is_dir()) {
        watch(&stem(&folder));
        for file in entries(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "yaml")) {
            let name = format!("{}/{}", stem(&folder), stem(&file));
            watch(&format!("{name}.yaml"));
            let _ = writeln!(table, "    Packaged {{ name: {name:?}, text: include_str!({file:?}) }},");
        }
    }
    table.push_str("];\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("packaged_configs.rs"), table)
}

/// By a path from here, for the same reason: each copy of the repository watches its own files.
fn watch(path: &str) {
    println!("cargo::rerun-if-changed={CONFIGS}/{path}");
}

/// In the order of their names, so that the list is the same on every machine.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
