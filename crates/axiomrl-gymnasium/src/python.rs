//! Which Python, and what it is given to run.

use serde_json::json;
use std::env;
use std::path::{Path, PathBuf};

/// Names the Python to use, where nothing else does.
pub const PYTHON_VARIABLE: &str = "AXIOMRL_PYTHON";

/// The modules of a worker, each after those that it needs.
const MODULES: [(&str, &str); 7] = [
    ("_bridge_spaces", include_str!("../../../python/axiomrl/_bridge_spaces.py")),
    ("_bridge_rows", include_str!("../../../python/axiomrl/_bridge_rows.py")),
    ("_bridge_make", include_str!("../../../python/axiomrl/_bridge_make.py")),
    ("_bridge_vector", include_str!("../../../python/axiomrl/_bridge_vector.py")),
    ("_bridge", include_str!("../../../python/axiomrl/_bridge.py")),
    ("_check", include_str!("../../../python/axiomrl/_check.py")),
    ("_worker", include_str!("../../../python/axiomrl/_worker.py")),
];

/// Reads the modules from standard input as a package of a name that nobody else has, and runs the worker. Tracebacks show their
/// lines.
pub const BOOT: &str = r#"
import json, linecache, os, sys, types
size, text = int(sys.argv[2]), b""
while len(text) < size:
    piece = os.read(0, size - len(text))
    if not piece:
        sys.exit(1)
    text += piece
package = types.ModuleType("_axiomrl_worker")
package.__path__ = []
sys.modules[package.__name__] = package
for name, source in json.loads(text):
    module, path = types.ModuleType(package.__name__ + "." + name), "<axiomrl/" + name + ".py>"
    module.__package__ = package.__name__
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except ModuleNotFoundError as error:
        remedy = "install it with `pip install gymnasium numpy`, or name another Python with --python or AXIOMRL_PYTHON"
        said = {"message": f"this Python ({sys.executable}) has no {error.name}; {remedy}", "env": None, "traceback": ""}
        answer = json.dumps(said).encode()
        os.write(1, b"e" + len(answer).to_bytes(4, "little") + answer)
        sys.exit(1)
package._worker.main()
"#;

/// The modules as the boot reads them.
pub fn modules() -> String {
    json!(MODULES).to_string()
}

/// The Python to use: the one given, or that of the variable, or `python3`.
pub fn executable(given: Option<&Path>) -> PathBuf {
    let named = || env::var_os(PYTHON_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    given.map(Path::to_path_buf).or_else(named).unwrap_or_else(|| "python3".into())
}
