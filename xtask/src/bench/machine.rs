//! What the figures were measured on.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;

#[derive(Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    /// Processes that wanted to run in the last minute: far above 0 before we start means a busy machine.
    pub load_before: Option<f64>,
}

impl Machine {
    pub fn find() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let processors = read("/proc/cpuinfo");
        let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            processor: model.map_or("unknown", |(_, name)| name).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            load_before: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} cores", self.processor, self.cores)?;
        self.load_before.map_or(Ok(()), |load| write!(f, ", load {load} before the start"))
    }
}
