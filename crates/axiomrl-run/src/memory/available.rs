//! What this machine has to give. Only Linux says; elsewhere nothing is known and nothing is refused.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that can still be had; `None` where there is no telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Available {
    /// To be written to.
    pub memory: Option<u64>,
    /// To be asked for.
    pub address_space: Option<u64>,
}

impl Available {
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (meminfo, limits, status) = (read("/proc/meminfo"), read("/proc/self/limits"), read("/proc/self/status"));
        let in_group = cgroup_folders(&read("/proc/self/cgroup")).into_iter().filter_map(|group| left_in(&group));
        // In its usual mode the kernel refuses what exceeds all the memory there is; in the others it asks for more care
        // (2) or for none (1).
        let sane = if read("/proc/sys/vm/overcommit_memory").trim() == "0" { all_of(&meminfo) } else { None };
        let limit =
            address_limit(&limits).map(|limit| limit.saturating_sub(kilobytes(&status, "VmSize:").unwrap_or(0)));
        Self {
            memory: kilobytes(&meminfo, "MemAvailable:").into_iter().chain(in_group).min(),
            address_space: limit.into_iter().chain(sane).min(),
        }
    }
}

/// The value of a line such as `MemAvailable:   123 kB`, in bytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn all_of(meminfo: &str) -> Option<u64> {
    Some(kilobytes(meminfo, "MemTotal:")? + kilobytes(meminfo, "SwapTotal:").unwrap_or(0))
}

/// The soft limit of `ulimit -v`.
fn address_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The folders of the control groups this process is in, for both versions of them, outermost last.
fn cgroup_folders(membership: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            "memory" => Path::new("/sys/fs/cgroup/memory"),
            _ => continue,
        };
        let own = root.join(path.trim_start_matches('/'));
        folders.extend(own.ancestors().take_while(|folder| folder.starts_with(root)).map(Path::to_path_buf));
    }
    folders
}

/// What the group may still take. Its page cache counts as taken, though it would give that back.
fn left_in(group: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let taken = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = statistics.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        matches!(key, "inactive_file" | "total_inactive_file").then(|| value.parse::<u64>().ok())?
    });
    Some(limit.saturating_sub(taken.saturating_sub(cache.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_understood() {
        let meminfo =
            "MemTotal:       24000000 kB\nMemFree: 1 kB\nMemAvailable:   22000000 kB\nSwapTotal:  1000000 kB\n";
        assert_eq!(kilobytes(meminfo, "MemAvailable:"), Some(22_000_000 * 1024));
        assert_eq!(all_of(meminfo), Some(25_000_000 * 1024));
        assert_eq!(kilobytes("", "MemAvailable:"), None);
        let limits = "Limit Soft Limit Hard Limit Units\nMax address space         6442450944 unlimited bytes\n";
        assert_eq!(address_limit(limits), Some(6_442_450_944));
        assert_eq!(address_limit("Max address space         unlimited  unlimited  bytes\n"), None);
    }

    #[test]
    fn limits_of_a_group_and_those_above_it_are_looked_for() {
        let found = cgroup_folders("4:memory:/a/b\n3:cpu:/x\n0::/c\n");
        let expected = ["memory/a/b", "memory/a", "memory", "c", ""].map(|name| Path::new("/sys/fs/cgroup").join(name));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_left_in_a_group_counts_the_page_cache_as_free() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        assert_eq!(left_in(group.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        assert_eq!(left_in(group.path()), None, "no limit");
        write("memory.max", "1000\n");
        write("memory.stat", "anon 400\ninactive_file 250\n");
        assert_eq!(left_in(group.path()), Some(550));
    }
}
