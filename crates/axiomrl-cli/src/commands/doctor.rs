//! `axiomrl doctor`: what the program finds on this machine.

use crate::failure::Failure;
use crate::output::{pairs, print, print_pretty};
use crate::pool;
use axiomrl_nn::{SimdLevel, limit_simd};
use axiomrl_run::{configs, metadata::Metadata};
use clap::Args;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks the machine and the installation
#[derive(Args)]
pub struct Doctor {
    /// The folder runs are to be written to
    #[arg(long, value_name = "PATH", default_value = "runs")]
    output_dir: PathBuf,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub fn run(self) -> Result<(), Failure> {
        let machine = Metadata::collect(0).machine;
        let cpu = machine.cpu.unwrap_or_else(|| "unknown".to_owned());
        let system = format!("{} {}", machine.os, machine.arch);
        let simd = simd();
        let memory = memory_mib();
        let trouble = writing_trouble(&self.output_dir);
        let names = crate::catalogue();
        let counts = (names.algorithms().len(), names.all_environments().len(), configs::list().len());
        if self.json {
            return print_pretty(&json!({
                "version": env!("CARGO_PKG_VERSION"),
                "system": system,
                "cpu": cpu,
                "cores": machine.cores,
                "simd": simd,
                "threads": pool::default_threads(),
                "threads_are_for": pool::THREADS_ARE_FOR,
                "memory_mib": memory.map(|(total, _)| total),
                "memory_available_mib": memory.map(|(_, available)| available),
                "output_dir": self.output_dir.display().to_string(),
                "output_dir_writable": trouble.is_none(),
                "output_dir_problem": trouble,
                "algorithms": counts.0,
                "environments": counts.1,
                "configs": counts.2,
            }));
        }
        let folder = self.output_dir.display();
        print(&pairs(&[
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("system", system),
            ("cpu", cpu),
            ("cores", machine.cores.to_string()),
            ("simd", simd.to_owned()),
            ("threads", format!("{}, or what --threads says: {}", pool::default_threads(), pool::THREADS_ARE_FOR)),
            ("memory", memory.map_or("unknown".into(), |(total, free)| format!("{total} MiB, {free} MiB available"))),
            (
                "output folder",
                match trouble {
                    None => format!("{folder} can be written to"),
                    Some(problem) => {
                        format!("{folder} cannot be written to: {problem}; choose another with --output-dir")
                    }
                },
            ),
            ("packaged", format!("{} algorithms, {} environments, {} configs", counts.0, counts.1, counts.2)),
        ]))
    }
}

fn simd() -> &'static str {
    // Asking for the most gives what there is.
    match limit_simd(SimdLevel::Avx512) {
        SimdLevel::Avx512 => "AVX-512",
        SimdLevel::Avx2 => "AVX2 and FMA",
        SimdLevel::Portable => "portable (no AVX2 found: training will be slower)",
    }
}

/// Total and available memory, where the system tells.
fn memory_mib() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? / 1024)
    };
    Some((field("MemTotal:")?, field("MemAvailable:")?))
}

/// Why nothing can be written below `folder`. A folder that is not there yet is not made: its nearest parent is tried.
fn writing_trouble(folder: &Path) -> Option<String> {
    let absolute = std::path::absolute(folder).ok()?;
    let existing = absolute.ancestors().find(|path| path.exists())?;
    if !existing.is_dir() {
        return Some(format!("{} is a file", existing.display()));
    }
    let probe = existing.join(format!(".axiomrl-write-test-{}", std::process::id()));
    fs::write(&probe, b"x").and_then(|()| fs::remove_file(&probe)).err().map(|error| error.to_string())
}
