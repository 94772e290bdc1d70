//! The comparison as tables, on the terminal and in `benchmarks/peers.md`.

use super::agents::RECORDED;
use super::results::Results;
use super::rows::Row;
use super::works;
use std::fmt::Write;

/// Writing to a string cannot fail, so the results of `write!` are dropped throughout.
pub fn terminal(results: &Results) -> String {
    let mut text = String::new();
    let peak = &results.machine.gemm_peak_gflops;
    let _ = writeln!(text, "\ngemm peak: {} GFLOP/s on one core, {} on two\n", peak.one_core, peak.two_cores);
    let _ = writeln!(
        text,
        "{:<28} {:<15} {:<20} {:>11} {:>11} {:<8} {:>7}  mark",
        "work", "peer", "variant", "ours", "theirs", "unit", "ratio"
    );
    for row in results.rows.iter().filter(|row| row.threads == "best") {
        let _ = writeln!(text, "{}", line(row));
    }
    for missing in &results.missing {
        let _ = writeln!(text, "not measured: {} ({}): {}", missing.peer, missing.work, missing.reason);
    }
    text
}

/// A row as a line of the terminal's table.
pub fn line(row: &Row) -> String {
    format!(
        "{:<28} {:<15} {:<20} {:>11} {:>11} {:<8} {:>6}x  {}",
        row.work,
        row.peer,
        row.variant,
        row.ours,
        row.theirs,
        row.unit.name(),
        row.ratio,
        verdict(row)
    )
}

fn verdict(row: &Row) -> String {
    match (row.mark, row.met) {
        (Some(mark), Some(true)) => format!("≥ {mark}: met"),
        (Some(mark), _) => format!("≥ {mark}: MISSED"),
        (None, _) => String::new(),
    }
}

pub fn markdown(results: &Results) -> String {
    let mut text = String::from(
        "# Beside the peers\n\n\
         Written by `cargo xtask bench --peers`; the same in numbers is `peers.json`. A ratio above 1 means that ours is faster.\n\
         Ratios of one run on one machine can be compared; absolute figures of different machines cannot.\n\n",
    );
    machine(&mut text, results);
    text.push_str(
        "## Each side at its best number of threads\n\n\
         | work | peer | variant | ours | theirs | unit | ratio | mark |\n|---|---|---|--:|--:|---|--:|---|\n",
    );
    for row in results.rows.iter().filter(|row| row.threads == "best") {
        let (ours, theirs) = (with_threads(row.ours, row.ours_threads), with_threads(row.theirs, row.theirs_threads));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {ours} | {theirs} | {} | {} | {} |",
            works::title(&row.work),
            row.peer,
            row.variant,
            row.unit.name(),
            row.ratio,
            verdict(row)
        );
    }
    equal_threads(&mut text, results);
    shares(&mut text, results);
    if !results.missing.is_empty() {
        text.push_str("\n## Not measured\n\n| peer | work | reason |\n|---|---|---|\n");
        for missing in &results.missing {
            let reason = missing.reason.replace('|', "\\|").replace('\n', " ");
            let _ = writeln!(text, "| {} | {} | {reason} |", missing.peer, missing.work);
        }
    }
    how(&mut text, results);
    text
}

fn with_threads(value: f64, threads: usize) -> String {
    format!("{value} ({threads})")
}

fn machine(text: &mut String, results: &Results) {
    let (machine, peak) = (&results.machine.machine, &results.machine.gemm_peak_gflops);
    let _ = writeln!(
        text,
        "Machine: {machine}. The fastest matrix product found: {} GFLOP/s on one core, {} on two.\n",
        peak.one_core, peak.two_cores
    );
    let marked: Vec<bool> = results.rows.iter().filter_map(|row| row.met).collect();
    let met = marked.iter().filter(|met| **met).count();
    let _ = writeln!(
        text,
        "Marks met: {met} of {}. Best of {} rounds, all sides taking turns.\n",
        marked.len(),
        results.rounds
    );
}

fn equal_threads(text: &mut String, results: &Results) {
    text.push_str("\nIn brackets: the number of threads.\n\n## At equal numbers of threads\n\n| work | peer | variant | 1 thread | 2 threads |\n|---|---|---|--:|--:|\n");
    for best in results.rows.iter().filter(|row| row.threads == "best") {
        let ratio = |threads: &str| {
            let same = |row: &&Row| {
                row.threads == threads
                    && (&row.work, &row.peer, &row.variant) == (&best.work, &best.peer, &best.variant)
            };
            results.rows.iter().find(same).map_or("–".to_owned(), |row| row.ratio.to_string())
        };
        let title = works::title(&best.work);
        let _ = writeln!(text, "| {title} | {} | {} | {} | {} |", best.peer, best.variant, ratio("1"), ratio("2"));
    }
}

fn shares(text: &mut String, results: &Results) {
    text.push_str("\n## Our share of the peak\n\nMatrix products alone are counted; everything else a work does takes its time, but adds nothing to MFLOP. The peak is the one found in the turns of the same work.\n\n| work | threads | MFLOP | µs | GFLOP/s | peak | % of peak |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for share in &results.shares {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            works::title(&share.work),
            share.threads,
            share.mflop,
            share.microseconds,
            share.gflops,
            share.peak_gflops,
            share.percent_of_peak
        );
    }
}

fn how(text: &mut String, results: &Results) {
    let portable = if results.rustflags.is_empty() {
        "The binary is the portable one: no `target-cpu=native`, kernels are chosen when the program runs.".to_owned()
    } else {
        format!("Built with `RUSTFLAGS={}`, which is not how the program is shipped.", results.rustflags)
    };
    let _ = write!(
        text,
        "\n## What was measured\n\n\
         - {portable}\n\
         - Updates: data already in memory, everything from the forward pass to the optimiser's step, including noise, clipping\n  \
           and target averaging where the method has them. The scripts are in `benchmarks/peers/`, ours is the example `updates`\n  \
           of `axiomrl-nn`, or for whole agents `agent_updates` of `axiomrl-cli`, which draws its batches from the store, too.\n\
         - Updates from a file: all sides read the same transitions (`{RECORDED}`), and each update begins with the drawing of its\n  \
           batch, but for \"batch at hand\". d3rlpy does not learn from the last step of an episode that a time limit cut off.\n\
         - A gradient step of MBPO's model: rows of each network's own, drawn with replacement and shuffled once per epoch, on both\n  \
           sides; no looks at rows held out, no imagining, no update of the policy.\n\
         - `default` is a peer as its users write it; `tuned` adds the fused Adam, foreach clipping and averaging, plain formulas\n  \
           in place of distribution objects, frozen critics in the actor's loss, channels_last and inference_mode; `compiled` is\n  \
           `tuned` with `torch.compile`, its compilation not counted. For the LSTM, for d3rlpy and for whole runs only what applies\n  \
           is switched on; for A2C that is RMSprop over all weights at once.\n\
         - Whole runs: environment steps per second with the same network, batch, epochs and number of environments, after a\n  \
           warm-up: a thousand steps or so of a peer, a tenth of our run.\n\
         - \"From the start\" counts the peer's compilation but not its imports; ours is the whole process, from its start to the\n  \
           last file.\n\
         - The rows of a work always come from one run; a work may have been measured again later (`--only-work`).\n\
         - A limit of one thread is the library's own where it has one; processes that use JAX are bound to one core.\n\n\
         Versions: {}.\n",
        results.versions.iter().cloned().collect::<Vec<_>>().join(", ")
    );
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Figures, Unit, figure};
    use super::super::results::Missing;
    use super::*;
    use crate::bench::machine::Machine;
    use anyhow::anyhow;

    #[test]
    fn a_missed_mark_and_a_missing_peer_are_said_aloud() {
        let mut figures = Figures::default();
        figures.add_all("ours", vec![figure("lstm", "ours", 2, 100.0, Unit::Microseconds)]);
        figures.add_all("torch", vec![figure("lstm", "tuned", 1, 150.0, Unit::Microseconds)]);
        let missing = vec![Missing::new("rlox", "all", &anyhow!("no wheel for this | platform"))];
        let results = Results::new(Machine::find(), &figures, Default::default(), missing, 1);
        let text = markdown(&results);
        assert!(text.contains("| torch | tuned | 100 (2) | 150 (1) | µs | 1.5 | ≥ 2.2: MISSED |"), "{text}");
        assert!(text.contains("| rlox | all | no wheel for this \\| platform |"), "{text}");
        assert!(text.contains("Marks met: 0 of 1."), "{text}");
        assert!(terminal(&results).contains("not measured: rlox (all)"));
    }
}
