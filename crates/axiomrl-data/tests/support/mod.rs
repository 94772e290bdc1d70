//! A Python with numpy and Minari, found or made.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

const NEEDED: &str = "import numpy, h5py, pyarrow, PIL, gymnasium, minari; assert minari.__version__ == '0.5.4'";

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python")
}

/// Runs a part of `interop.py` on a folder, and fails with what it says.
pub fn interop(part: &str, folder: &Path) {
    let output = run(Command::new(python()).arg(here().join("interop.py")).arg(part).arg(folder));
    assert!(output.status.success(), "interop.py {part} failed:\n{}", text(&output));
}

/// The Python of `AXIOMRL_TEST_PYTHON`, or a `python3`, that has what is needed; otherwise a virtual environment in the target folder, made once.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let installed = env::var_os("AXIOMRL_TEST_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
        if has_what_is_needed(&installed) {
            return installed;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("minari-venv");
        let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        // Tests may run in processes of their own: one of them makes it, the others wait.
        let lock = fs::File::create(folder.with_extension("lock")).and_then(|file| file.lock().map(|()| file));
        let _held = lock.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        if has_what_is_needed(&python) {
            return python;
        }
        // A half-made one is of no use.
        let _ = fs::remove_dir_all(&folder);
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests/requirements.txt");
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).output();
        let installed = made.and_then(|_| {
            Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&requirements).output()
        });
        let problem = match installed {
            Ok(_) if has_what_is_needed(&python) => return python,
            Ok(output) => text(&output),
            Err(error) => error.to_string(),
        };
        panic!(
            "this test needs a python3 with numpy, h5py, pyarrow, pillow, gymnasium and minari 0.5.4. There is none, and a \
             virtual environment could not be made in {}:\n{problem}\nInstall python3 with its `venv` module and allow access to \
             PyPI, or run `pip install -r {}` yourself.",
            folder.display(),
            requirements.display()
        );
    })
}

fn has_what_is_needed(python: &Path) -> bool {
    Command::new(python).args(["-c", NEEDED]).output().is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}
