//! `cargo xtask browser`: does what `axiomrl report` makes open in a real browser?

use crate::binary::Binary;
use crate::scratch::Scratch;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian's, Ubuntu's and Google's packages put it.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Experiments and how many seeds of each: 200 runs.
const EXPERIMENTS: &[&str] = &["ppo/cartpole", "dqn/cartpole", "a2c/cartpole", "reinforce/cartpole"];
const SEEDS: usize = 50;

const MOST_SECONDS: f64 = 5.0;

/// What the page is asked once it has loaded; the answer stands in its title.
const ASK: &str = "<script>addEventListener('load', () => {
  const all = [...document.images], seen = all.filter(image => image.complete && image.naturalWidth > 0);
  const drawn = [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0);
  const rows = document.querySelectorAll('tr').length;
  document.title = `asked images=${seen.length}/${all.length} curves=${drawn.length} rows=${rows}`;
});</script>";

/// Makes a report about 200 runs and opens it in headless Chromium: no error in the console, all pictures there
///
/// Not part of the tests, which need nothing but Rust and Python.
#[derive(Args)]
pub struct Browser {
    /// The browser [default: the first of chromium, chromium-browser, google-chrome that is there]
    #[arg(long, value_name = "PROGRAM")]
    browser: Option<String>,
}

impl Browser {
    pub fn run(self) -> Result<()> {
        let browser = self.browser.map_or_else(find, Ok)?;
        let binary = Binary::build()?;
        let folder = Scratch::new("browser")?;
        let runs = folder.path().join("runs");
        for (config, seed) in EXPERIMENTS.iter().flat_map(|config| (1..=SEEDS).map(move |seed| (config, seed))) {
            train(&binary, config, seed, &runs)?;
        }
        let page = folder.path().join("report.html");
        let seconds = report(&binary, &runs, &page)?;
        println!("{} runs: {} KiB in {seconds:.1} s", EXPERIMENTS.len() * SEEDS, fs::metadata(&page)?.len() / 1024);
        let title = open(&browser, &page, folder.path())?;
        println!("{browser}: {title}");
        let seen = Seen::of(&title)?;
        ensure!(seen.images > 0 && seen.images == seen.all_images, "pictures are missing: {title}");
        ensure!(seen.curves > 0 && seen.rows > EXPERIMENTS.len(), "curves or rows are missing: {title}");
        ensure!(seconds < MOST_SECONDS, "the report took {seconds:.1} s, and {MOST_SECONDS} are allowed");
        Ok(())
    }
}

fn find() -> Result<String> {
    let there = |name: &&&str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let found = BROWSERS.iter().find(there);
    found
        .map(|name| (*name).to_owned())
        .context("no browser was found; install Debian's package `chromium`, or name one with --browser")
}

fn train(binary: &Binary, config: &str, seed: usize, runs: &Path) -> Result<()> {
    let run = runs.join(format!("{}-{seed}", config.replace('/', "-")));
    let seed = seed.to_string();
    let mut args = vec![config, "--seed", &seed, "--threads", "1", "--total-timesteps", "2000"];
    for set in ["eval_interval=500", "eval_episodes=2", "checkpoint_interval=0"] {
        args.extend(["--set", set]);
    }
    let run = run.display().to_string();
    args.extend(["--run-dir", &run]);
    binary.train(&args.into_iter().map(str::to_owned).collect::<Vec<_>>()).map(drop)
}

/// How many seconds it took.
fn report(binary: &Binary, runs: &Path, page: &Path) -> Result<f64> {
    let begun = Instant::now();
    let made = binary.command().arg("report").arg(runs).arg("-o").arg(page).stdout(Stdio::null()).status()?;
    ensure!(made.success(), "`axiomrl report` failed");
    Ok(begun.elapsed().as_secs_f64())
}

/// The title that the page has given itself. Whatever the console says is an error: the page has nothing to say there.
fn open(browser: &str, page: &Path, folder: &Path) -> Result<String> {
    let html = fs::read_to_string(page)?;
    ensure!(html.contains("</body>"), "the report has no end");
    let asked = folder.join("asked.html");
    fs::write(&asked, html.replacen("</body>", &format!("{ASK}</body>"), 1))?;
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.arg(format!("file://{}", asked.display()));
    let output = ended_within(command, Duration::from_secs(60))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(line) = said.lines().find(|line| line.contains("CONSOLE")) {
        bail!("the console says: {line}");
    }
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let (title, _) = title.with_context(|| format!("{browser} shows no page: {}", said.trim()))?;
    Ok(title.to_owned())
}

fn ended_within(mut command: Command, limit: Duration) -> Result<std::process::Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let id = child.id();
    let (done, waited) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waited.recv_timeout(limit).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").arg(id.to_string()).status();
        }
    });
    let output = child.wait_with_output();
    drop(done);
    let _ = watch.join();
    Ok(output?)
}

#[derive(Debug, PartialEq)]
struct Seen {
    images: usize,
    all_images: usize,
    curves: usize,
    rows: usize,
}

impl Seen {
    fn of(title: &str) -> Result<Self> {
        let number = |key: &str| {
            let word = title.split_whitespace().find_map(|word| word.strip_prefix(key));
            word.with_context(|| format!("the page did not answer: its title is `{title}`"))
        };
        let (images, all_images) = number("images=")?.split_once('/').context("images of how many?")?;
        Ok(Self {
            images: images.parse()?,
            all_images: all_images.parse()?,
            curves: number("curves=")?.parse()?,
            rows: number("rows=")?.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_page_is_read_and_its_absence_noticed() {
        let seen = Seen::of("asked images=1/2 curves=3 rows=40").unwrap();
        assert_eq!(seen, Seen { images: 1, all_images: 2, curves: 3, rows: 40 });
        let silent = Seen::of("200 runs, 1 tasks").unwrap_err().to_string();
        assert!(silent.contains("200 runs, 1 tasks"), "{silent}");
    }
}
