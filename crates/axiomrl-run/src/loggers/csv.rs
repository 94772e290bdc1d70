//! `progress.csv`: one row per log, one column per metric, as SB3 writes it.

use super::lines::Lines;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// The column that says when a row was written. It is always the first.
const STEP: &str = "time/total_timesteps";

/// The table of metrics. Columns come in the order in which metrics first appeared.
#[derive(Debug)]
pub struct ProgressCsv {
    lines: Lines,
    columns: Vec<String>,
}

impl ProgressCsv {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut lines = Lines::open(path, &format!("{STEP}\n"))?;
        let mut columns = Vec::new();
        lines.each(|line| {
            if columns.is_empty() {
                columns = line.split(',').map(str::to_owned).collect();
            }
            Ok(())
        })?;
        if columns.first().map(String::as_str) != Some(STEP) {
            let message = format!("its first column is not {STEP}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Self { lines, columns })
    }

    pub fn log(&mut self, step: u64, metrics: &[(String, f64)]) -> io::Result<()> {
        let mut cells: HashMap<String, String> =
            metrics.iter().map(|(name, value)| (column_name(name), number(*value))).collect();
        let step_cell = step.to_string();
        cells.insert(STEP.to_owned(), step_cell);
        self.add_columns(metrics)?;
        let row: Vec<&str> = self.columns.iter().map(|name| cells.get(name).map_or("", String::as_str)).collect();
        self.lines.push(&row.join(","))
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.lines.sync()
    }

    /// Drops the rows past `step`, and the columns that only they had: the row that brought a column has a value in it.
    pub fn truncate_after(&mut self, step: u64) -> io::Result<()> {
        let kept =
            |line: &str| line.split(',').next().and_then(|cell| cell.parse().ok()).is_some_and(|at: u64| at <= step);
        let mut used = vec![false; self.columns.len()];
        used[0] = true;
        self.lines.each(|line| {
            if kept(line) {
                used.iter_mut().zip(line.split(',')).for_each(|(used, cell)| *used |= !cell.is_empty());
            }
            Ok(())
        })?;
        let mut is_header = true;
        self.lines.rewrite(|line| {
            let keep = std::mem::take(&mut is_header) || kept(line);
            let cells = || line.split(',').zip(&used).filter(|(_, used)| **used).map(|(cell, _)| cell);
            keep.then(|| cells().collect::<Vec<_>>().join(","))
        })?;
        let mut used = used.into_iter();
        self.columns.retain(|_| used.next().unwrap_or(false));
        Ok(())
    }

    /// Widens the table by the metrics it does not have yet; earlier rows get empty cells.
    fn add_columns(&mut self, metrics: &[(String, f64)]) -> io::Result<()> {
        let before = self.columns.len();
        let mut columns = self.columns.clone();
        for name in metrics.iter().map(|(name, _)| column_name(name)) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        let added = columns.len() - before;
        if added > 0 {
            let header = columns.join(",");
            let mut is_header = true;
            self.lines.rewrite(|line| {
                Some(if std::mem::take(&mut is_header) { header.clone() } else { line.to_owned() + &",".repeat(added) })
            })?;
            // Only now: after an error the table and its header still agree.
            self.columns = columns;
        }
        Ok(())
    }
}

/// Nothing in a name may look like the table itself.
fn column_name(name: &str) -> String {
    name.replace([',', '"', '\n', '\r'], "_")
}

/// Whole numbers as such, others so that reading gives back the same value.
fn number(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        (value as i64).to_string()
    } else {
        format!("{value:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn metrics(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn columns_grow_and_shrink_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("progress.csv");
        let mut csv = ProgressCsv::open(&path).unwrap();
        csv.log(10, &metrics(&[("rollout/ep_rew_mean", 1.5), ("time/fps", 1000.0)])).unwrap();
        csv.flush().unwrap();
        let early = fs::read_to_string(&path).unwrap();
        csv.log(20, &metrics(&[("train/loss", 1e-9), ("rollout/ep_rew_mean", f64::NAN)])).unwrap();
        csv.log(30, &metrics(&[("train/loss", -0.25)])).unwrap();
        csv.flush().unwrap();
        let expected = "time/total_timesteps,rollout/ep_rew_mean,time/fps,train/loss\n\
                        10,1.5,1000,\n20,nan,,1e-9\n30,,,-0.25\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);

        csv.truncate_after(10).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), early);
        csv.log(20, &metrics(&[("train/loss", 1e-9), ("rollout/ep_rew_mean", f64::NAN)])).unwrap();
        csv.log(30, &metrics(&[("train/loss", -0.25)])).unwrap();
        csv.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    }

    #[test]
    fn a_row_cut_off_by_a_kill_is_dropped_and_columns_are_known_after_reopening() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("progress.csv");
        fs::write(&path, "time/total_timesteps,a,b\n10,1,2\n20,3").unwrap();
        let mut csv = ProgressCsv::open(&path).unwrap();
        csv.truncate_after(20).unwrap();
        csv.log(20, &metrics(&[("b", 4.0), ("a", 3.0)])).unwrap();
        csv.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "time/total_timesteps,a,b\n10,1,2\n20,3,4\n");
    }

    #[test]
    fn the_step_may_also_be_given_as_a_metric_and_names_cannot_break_the_table() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("progress.csv");
        let mut csv = ProgressCsv::open(&path).unwrap();
        csv.log(5, &metrics(&[(STEP, 5.0), ("a,\"b", f64::INFINITY)])).unwrap();
        csv.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "time/total_timesteps,a__b\n5,inf\n");
    }

    #[test]
    fn a_foreign_table_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("progress.csv");
        fs::write(&path, "x,y\n1,2\n").unwrap();
        assert!(ProgressCsv::open(&path).unwrap_err().to_string().contains("first column"));
    }
}
