//! What a user sees while a run goes on: a bar on a terminal, now and then a line elsewhere, nothing when asked.

mod speed;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use speed::Speed;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// How often the bar is brought up to date: often enough to look alive, seldom enough to cost nothing.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// Shows how a run goes on standard error, which leaves standard output to results.
pub struct ProgressDisplay {
    total: u64,
    step: u64,
    mean_return: Option<f64>,
    best_evaluation: Option<f64>,
    /// From the first step seen on, which in a resumed run is not 0.
    speed: Option<Speed>,
    shown_at: Instant,
    /// The step of the line written last: the end of a run is not said twice.
    shown_step: Option<u64>,
    output: Output,
}

enum Output {
    Bar(ProgressBar),
    Lines(Box<dyn Write + Send>),
    Silent,
}

impl ProgressDisplay {
    /// For a run of `total` steps. A resumed run needs no more than that: the first update says where it is.
    pub fn new(total: u64, quiet: bool) -> Self {
        let output = if quiet {
            Output::Silent
        } else if std::io::stderr().is_terminal() {
            Output::Bar(bar(total))
        } else {
            Output::Lines(Box::new(std::io::stderr()))
        };
        Self::with_output(total, output, Instant::now())
    }

    fn with_output(total: u64, output: Output, now: Instant) -> Self {
        Self {
            total,
            step: 0,
            mean_return: None,
            best_evaluation: None,
            speed: None,
            shown_at: now,
            shown_step: None,
            output,
        }
    }

    /// To be called as often as is convenient, every step if need be.
    pub fn update(&mut self, step: u64, mean_return: Option<f64>) {
        self.update_at(Instant::now(), step, mean_return);
    }

    /// An evaluation with its mean return.
    pub fn evaluated(&mut self, step: u64, mean: f64) {
        self.evaluated_at(Instant::now(), step, mean);
    }

    /// The best evaluation there was before this process took up the run.
    pub fn remember_best(&mut self, mean: f64) {
        self.best_evaluation = Some(self.best_evaluation.map_or(mean, |best| best.max(mean)));
    }

    #[cfg(test)]
    pub(crate) fn best(&self) -> Option<f64> {
        self.best_evaluation
    }

    /// Says something without disturbing the bar.
    pub fn note(&mut self, text: &str) {
        match &mut self.output {
            Output::Bar(bar) => bar.println(text),
            Output::Lines(out) => line(out, text),
            Output::Silent => {}
        }
    }

    /// The last state, left to be read.
    pub fn finish(&mut self) {
        let (text, brief) = (self.text(), self.brief());
        match &mut self.output {
            Output::Bar(bar) => {
                bar.set_position(self.step);
                bar.abandon_with_message(brief);
            }
            Output::Lines(out) if self.shown_step != Some(self.step) => line(out, &text),
            Output::Lines(_) => {}
            Output::Silent => {}
        }
        self.output = Output::Silent;
    }

    fn update_at(&mut self, now: Instant, step: u64, mean_return: Option<f64>) {
        self.step = step;
        self.mean_return = mean_return.or(self.mean_return);
        self.speed.get_or_insert_with(|| Speed::new(now, step));
        let interval = match self.output {
            Output::Bar(_) => BAR_INTERVAL,
            Output::Lines(_) => LINE_INTERVAL,
            Output::Silent => return,
        };
        if now.duration_since(self.shown_at) >= interval {
            self.show(now, None);
        }
    }

    fn evaluated_at(&mut self, now: Instant, step: u64, mean: f64) {
        self.step = step;
        self.remember_best(mean);
        self.show(now, Some(mean));
    }

    fn show(&mut self, now: Instant, evaluation: Option<f64>) {
        self.shown_at = now;
        self.shown_step = Some(self.step);
        self.speed.get_or_insert_with(|| Speed::new(now, self.step)).record(now, self.step);
        let (mut text, brief) = (self.text(), self.brief());
        match &mut self.output {
            Output::Bar(bar) => {
                bar.set_position(self.step);
                bar.set_message(brief);
            }
            Output::Lines(out) => {
                if let Some(mean) = evaluation {
                    text = format!("{text} | evaluated {mean:.1}");
                }
                line(out, &text);
            }
            Output::Silent => {}
        }
    }

    /// Beside a bar, on a line that may be cut at its end: what matters most comes first.
    fn brief(&self) -> String {
        let mut parts = vec![grouped(self.step)];
        if let Some(speed) = self.speed.as_ref().and_then(Speed::per_second) {
            let left = self.total.saturating_sub(self.step);
            if left > 0 {
                parts.push(format!("{} left", duration(left as f64 / speed)));
            }
            parts.push(format!("{}/s", grouped(speed.round() as u64)));
        }
        parts.extend(self.mean_return.map(|value| format!("return {value:.1}")));
        parts.extend(self.best_evaluation.map(|value| format!("best eval {value:.1}")));
        parts.join(" | ")
    }

    fn text(&self) -> String {
        let mut parts = vec![format!("{}/{} steps", grouped(self.step), grouped(self.total))];
        parts.extend(self.mean_return.map(|value| format!("return {value:.1}")));
        parts.extend(self.best_evaluation.map(|value| format!("best eval {value:.1}")));
        if let Some(speed) = self.speed.as_ref().and_then(Speed::per_second) {
            parts.push(format!("{} steps/s", grouped(speed.round() as u64)));
            let left = self.total.saturating_sub(self.step);
            if left > 0 {
                parts.push(format!("{} left", duration(left as f64 / speed)));
            }
        }
        parts.join(" | ")
    }
}

fn bar(total: u64) -> ProgressBar {
    // `wide_msg` is cut to the width of the terminal, so that the bar stays on one line.
    let style = ProgressStyle::with_template("{bar:12} {percent:>3}% {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style)
}

/// A closed pipe must not end a training run: whether anybody reads this is not the run's business.
fn line(out: &mut impl Write, text: &str) {
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn duration(seconds: f64) -> String {
    match seconds.round() as u64 {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m {:02}s", s / 60, s % 60),
        s if s < 48 * 3600 => format!("{}h {:02}m", s / 3600, s / 60 % 60),
        s => format!("{}d {:02}h", s / 86_400, s / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Shared {
        fn lines(&self) -> Vec<String> {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
        }
    }

    #[test]
    fn without_a_terminal_a_line_every_five_seconds_and_at_evaluations() {
        let (out, start) = (Shared::default(), Instant::now());
        let mut progress = ProgressDisplay::with_output(100_000, Output::Lines(Box::new(out.clone())), start);
        for tenth in 0..=120 {
            progress.update_at(start + Duration::from_millis(tenth * 100), tenth * 100, Some(21.5));
        }
        let expected = [
            "5,000/100,000 steps | return 21.5 | 1,000 steps/s | 1m 35s left",
            "10,000/100,000 steps | return 21.5 | 1,000 steps/s | 1m 30s left",
        ];
        assert_eq!(out.lines(), expected);
        progress.remember_best(200.25);
        progress.evaluated_at(start + Duration::from_secs(13), 13_000, 180.0);
        let last = out.lines().pop().unwrap();
        assert!(last.ends_with("best eval 200.2 | 1,000 steps/s | 1m 27s left | evaluated 180.0"), "{last}");
        progress.note("stopping early");
        progress.finish();
        progress.finish();
        assert_eq!(out.lines().len(), 4, "the last state is already there");
    }

    #[test]
    fn quiet_is_quiet_and_broken_output_is_ignored() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        assert!(matches!(ProgressDisplay::new(10, true).output, Output::Silent));
        let mut progress = ProgressDisplay::with_output(10, Output::Lines(Box::new(Broken)), Instant::now());
        progress.evaluated(5, 1.0);
        progress.finish();
    }

    #[test]
    fn on_a_terminal_the_bar_follows() {
        let now = Instant::now();
        let bar = bar(100);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let mut progress = ProgressDisplay::with_output(100, Output::Bar(bar.clone()), now);
        // Resumed at 40: the speed counts from there.
        progress.update_at(now, 40, None);
        progress.evaluated_at(now + Duration::from_secs(2), 50, 7.5);
        assert_eq!(bar.position(), 50);
        assert_eq!(bar.message(), "50 | 10s left | 5/s | best eval 7.5");
        progress.update_at(now + Duration::from_millis(2050), 60, None);
        assert_eq!(bar.position(), 50, "too soon to draw again");
        progress.finish();
        assert_eq!(bar.position(), 60);
        assert!(bar.is_finished());
    }

    #[test]
    fn numbers_and_durations_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let durations = [0.4, 61.0, 3661.0, 200_000.0].map(duration);
        assert_eq!(durations, ["0s", "1m 01s", "1h 01m", "2d 07h"]);
    }
}
