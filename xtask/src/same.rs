//! `cargo xtask same`: does a change of the code change what is computed?

mod cases;
mod compare;
mod run;
mod speed;

use crate::binary::Binary;
use crate::scratch::Scratch;
use anyhow::{Result, bail};
use cases::{CASES, Case};
use clap::Args;
use compare::{Ignored, Record, first_difference};
use run::{Changes, record};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Trains the same short runs with two builds of `axiomrl` and compares every number that they report
///
/// Compared are the rows of `metrics.jsonl` (without `time/*`), the returns of `eval`, and the actions of `predict` on fixed
/// observations: nothing that depends on how files are laid out. Numbers are compared exactly, so both programs must be built for
/// the same instruction set. Ends with exit code 1 if a case differs, or is refused, that `--expect` does not name.
#[derive(Args)]
pub struct Same {
    /// The program as it was, e.g. a release build of an earlier commit
    #[arg(long, value_name = "PROGRAM")]
    before: PathBuf,
    /// The program as it is now [default: the release build of this repository]
    #[arg(long, value_name = "PROGRAM")]
    after: Option<PathBuf>,
    /// Only these cases
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Cases that may differ
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    expect: Vec<String>,
    /// Metrics that are not compared: those that begin with one of these
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    ignore: Vec<String>,
    /// A setting that the program as it is now knows by another name, e.g. algo_kwargs.tau=algo_kwargs.polyak
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<String>,
    /// Changes one setting for the second program alone: what then stays the same does not depend on it
    #[arg(long, value_name = "KEY=VALUE")]
    after_set: Vec<String>,
    /// Cases run at the same time, one thread each
    #[arg(long, default_value = "2")]
    jobs: NonZeroUsize,
    /// Measures processor time and memory in turns instead; leave the machine alone meanwhile
    #[arg(long)]
    speed: bool,
    /// Pairs of runs behind each ratio of --speed
    #[arg(long, default_value = "5")]
    pairs: NonZeroUsize,
}

/// How a case ended.
enum Verdict {
    Same { rows: usize },
    Differs(String),
    Refused(String),
}

impl Same {
    pub fn run(self) -> Result<()> {
        let known: Vec<&str> = if self.speed { speed::names() } else { CASES.iter().map(|case| case.name).collect() };
        if let Some(name) = self.only.iter().chain(&self.expect).find(|name| !known.contains(&name.as_str())) {
            bail!("there is no case `{name}`; known: {}", known.join(", "));
        }
        let before = Binary::copy_of(&self.before, "before")?;
        let after = match &self.after {
            Some(program) => Binary::copy_of(program, "after")?,
            None => Binary::build()?,
        };
        let scratch = Scratch::new("same")?;
        let changes = Changes::new(&self.rename, &self.after_set)?;
        if self.speed {
            let wanted = |name: &str| self.wanted(name);
            return speed::measure(&before, &after, &changes, self.pairs.get(), &wanted, scratch.path());
        }
        self.compare(&before, &after, &changes, scratch.path())
    }

    fn wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    fn compare(&self, before: &Binary, after: &Binary, changes: &Changes, folder: &Path) -> Result<()> {
        let cases: Vec<&Case> = CASES.iter().filter(|case| self.wanted(case.name)).collect();
        let next = AtomicUsize::new(0);
        let wrong = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get() {
                scope.spawn(|| {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let verdict = self.judge(case, before, after, changes, folder);
                        let mut wrong = wrong.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        if !self.report(case, &verdict) {
                            wrong.push(case.name);
                        }
                    }
                });
            }
        });
        let wrong = wrong.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !wrong.is_empty() {
            bail!("{} of {} cases are not the same: {}", wrong.len(), cases.len(), wrong.join(","));
        }
        println!("all {} cases are as they should be", cases.len());
        Ok(())
    }

    fn judge(&self, case: &Case, before: &Binary, after: &Binary, changes: &Changes, folder: &Path) -> Verdict {
        let old = record(before, case, &Changes::default(), &folder.join(format!("{}-before", case.name)));
        let new = record(after, case, changes, &folder.join(format!("{}-after", case.name)));
        verdict(old, new, &Ignored(&self.ignore))
    }

    /// Prints a case's line; whether it ended as it should.
    fn report(&self, case: &Case, verdict: &Verdict) -> bool {
        let expected = self.expect.iter().any(|name| name == case.name);
        let (fine, said) = match verdict {
            Verdict::Same { rows } => (true, format!("same ({rows} rows)")),
            Verdict::Differs(how) if expected => (true, format!("differs as expected: {how}")),
            Verdict::Differs(how) => (false, format!("DIFFERS: {how}")),
            Verdict::Refused(why) if expected => (true, format!("refused as expected: {why}")),
            Verdict::Refused(why) => (false, format!("REFUSED: {why}")),
        };
        println!("{:<28} {said}", case.name);
        fine
    }
}

fn verdict(before: Result<Record>, after: Result<Record>, ignored: &Ignored) -> Verdict {
    match (before, after) {
        (Ok(before), Ok(after)) => match first_difference(&before, &after, ignored) {
            None => Verdict::Same { rows: before.metrics.len() },
            Some(how) => Verdict::Differs(how),
        },
        (Err(old), Err(new)) => Verdict::Refused(format!("before: {}; after: {}", reason(&old), reason(&new))),
        (Err(old), Ok(_)) => Verdict::Refused(format!("before: {}", reason(&old))),
        (Ok(_), Err(new)) => Verdict::Refused(format!("after: {}", reason(&new))),
    }
}

/// What the program itself complained of, without the long command that it was given.
fn reason(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.rsplit_once("error: ").map_or(text.clone(), |(_, complaint)| complaint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_refusal_is_no_agreement_even_if_both_refuse() {
        let refused = || Err(anyhow!("`axiomrl train x` ended with 2: error: unknown key `tau`"));
        let said = |before, after| match verdict(before, after, &Ignored(&[])) {
            Verdict::Refused(why) => why,
            _ => String::new(),
        };
        assert_eq!(said(Ok(Record::default()), refused()), "after: unknown key `tau`");
        assert_eq!(said(refused(), Ok(Record::default())), "before: unknown key `tau`");
        assert_eq!(said(refused(), refused()), "before: unknown key `tau`; after: unknown key `tau`");
        assert!(matches!(verdict(Ok(Record::default()), Ok(Record::default()), &Ignored(&[])), Verdict::Same { .. }));
    }
}
