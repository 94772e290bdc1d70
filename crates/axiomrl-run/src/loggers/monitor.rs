//! `monitor.csv`: one row per training episode, in the format of SB3's `Monitor`, readable by its `load_results`.

use super::lines::Lines;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Return, length and time of each episode, and the step it ended at (an extra column, as SB3 allows).
#[derive(Debug)]
pub struct Monitor {
    lines: Lines,
}

impl Monitor {
    /// `started` is the time of the run's beginning in seconds since 1970; only a new file takes note of it.
    pub fn open(path: &Path, env_id: &str, started: f64) -> io::Result<Self> {
        let env_id = serde_json::to_string(env_id)?;
        Ok(Self {
            lines: Lines::open(path, &format!("#{{\"t_start\": {started:?}, \"env_id\": {env_id}}}\nr,l,t,step\n"))?,
        })
    }

    /// An episode with its return, length, the seconds since the run began, and the step it ended at.
    pub fn episode(&mut self, ret: f64, length: u64, seconds: f64, step: u64) -> io::Result<()> {
        self.lines.push(&format!("{:?},{length},{:?},{step}", six_decimals(ret), six_decimals(seconds)))
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.lines.sync()
    }

    /// Drops the episodes that ended past `step`.
    pub fn truncate_after(&mut self, step: u64) -> io::Result<()> {
        let mut line_number = 0;
        self.lines.rewrite(|line| {
            line_number += 1;
            let ended = || line.rsplit(',').next().and_then(|cell| cell.parse::<u64>().ok());
            (line_number <= 2 || ended().is_some_and(|at| at <= step)).then(|| line.to_owned())
        })
    }
}

/// When the run began that a file is of, in seconds since 1970; `None` if it does not say.
pub fn started(path: &Path) -> Option<f64> {
    let mut head = String::new();
    BufReader::new(File::open(path).ok()?).take(4096).read_line(&mut head).ok()?;
    let head: serde_json::Value = serde_json::from_str(head.strip_prefix('#')?).ok()?;
    head["t_start"].as_f64()
}

fn six_decimals(value: f64) -> f64 {
    let rounded = (value * 1e6).round() / 1e6;
    // Too large to have decimals, and too large to be multiplied.
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn looks_like_sb3s_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("monitor.csv");
        let mut monitor = Monitor::open(&path, "Odd\"Env-v0", 1_700_000_000.25).unwrap();
        monitor.episode(21.0, 21, 0.123_456_789, 21).unwrap();
        monitor.episode(-0.1 - 0.2, 10, 2.0, 31).unwrap();
        monitor.flush().unwrap();
        let expected = "#{\"t_start\": 1700000000.25, \"env_id\": \"Odd\\\"Env-v0\"}\nr,l,t,step\n\
                        21.0,21,0.123457,21\n-0.3,10,2.0,31\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        let header: serde_json::Value = serde_json::from_str(&expected.lines().next().unwrap()[1..]).unwrap();
        assert_eq!(header["env_id"], "Odd\"Env-v0");
        assert_eq!(started(&path), Some(1_700_000_000.25));
        assert_eq!(started(&root.path().join("none")), None);
    }

    #[test]
    fn cutting_back_keeps_the_head_and_what_ended_in_time() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("monitor.csv");
        let mut monitor = Monitor::open(&path, "E", 1.0).unwrap();
        monitor.episode(1.0, 5, 0.5, 5).unwrap();
        monitor.episode(2.0, 5, 0.6, 10).unwrap();
        monitor.truncate_after(9).unwrap();
        let mut monitor = Monitor::open(&path, "E", 99.0).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().skip(2).collect::<Vec<_>>(), ["1.0,5,0.5,5"]);
        monitor.truncate_after(0).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "#{\"t_start\": 1.0, \"env_id\": \"E\"}\nr,l,t,step\n");
    }
}
