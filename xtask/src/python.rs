//! A Python for the tests: a virtual environment in the target folder, with what `python/tests/requirements.txt` pins.

use crate::shell::{compile_once, root, succeeded};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Tells tests which Python that is.
pub const VARIABLE: &str = "AXIOMRL_TEST_PYTHON";
const REQUIREMENTS: &str = "python/tests/requirements.txt";

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

fn folder() -> PathBuf {
    target().join("python")
}

/// The interpreter, whether it is there yet or not.
pub fn executable() -> PathBuf {
    program("python")
}

fn program(name: &str) -> PathBuf {
    let name = if cfg!(windows) { format!("Scripts/{name}.exe") } else { format!("bin/{name}") };
    folder().join(name)
}

/// Makes the environment, unless it is there with the same requirements.
pub fn prepare() -> Result<()> {
    let wanted = fs::read_to_string(root().join(REQUIREMENTS)).with_context(|| REQUIREMENTS.to_owned())?;
    let stamp = folder().join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    // A half-made one is of no use.
    let _ = fs::remove_dir_all(folder());
    let remedy =
        "the tests need Python 3.10 or newer with its `venv` module, and access to the packages that it installs";
    show(Command::new("python3").args(["-m", "venv"]).arg(folder())).context(remedy)?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", REQUIREMENTS];
    show(Command::new(executable()).args(install)).context(remedy)?;
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

/// Builds the wheel of what the tests have compiled already, and puts it into the environment.
pub fn install_wheel() -> Result<()> {
    let wheels = target().join("wheels-of-the-tests");
    let _ = fs::remove_dir_all(&wheels);
    let build = ["build", "--quiet", "--profile", "dev", "--features", "unify", "--out"];
    // Whoever runs this as a program of cargo's has variables that would compile everything anew.
    let mut maturin = Command::new(program("maturin"));
    maturin.args(build).arg(&wheels).env("CARGO_TARGET_DIR", target());
    for (name, _) in std::env::vars_os() {
        let of_ours = name.to_string_lossy();
        if of_ours.starts_with("CARGO_PKG") || of_ours.starts_with("CARGO_MANIFEST") {
            maturin.env_remove(&name);
        }
    }
    compile_once(&mut maturin);
    show(&mut maturin)?;
    let wheel = fs::read_dir(&wheels)?.flatten().map(|entry| entry.path()).next().context("maturin built no wheel")?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"];
    show(Command::new(executable()).args(install).arg(wheel))
}

pub fn pytest() -> Result<()> {
    show(Command::new(executable()).args(["-m", "pytest", "--durations", "10"]))
}

fn show(command: &mut Command) -> Result<()> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let name = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    eprintln!("$ {name}");
    let status = command.current_dir(root()).env("RAYON_NUM_THREADS", "1").status();
    succeeded(&name, status.with_context(|| format!("cannot start `{name}`"))?)
}
