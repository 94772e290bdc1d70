//! `benchmarks/growth.md`.

use super::{CLIFF, Growth, by_axis};
use std::fmt::Write;

/// Writing to a string cannot fail, so the results of `write!` are dropped throughout.
pub fn markdown(growth: &Growth) -> String {
    let mut text = format!(
        "# Growth\n\n\
         Written by `cargo xtask bench --only growth`; the same in numbers is `growth.json`. Machine: {}. Two threads.\n\n\
         ![Time per update as one size grows](growth.svg)\n\n\
         Width, batch and critics are those of a SAC update (256x256, batch 256, two critics, but for the one that grows); image is\n\
         two convolutions forward and backward, sequence an LSTM of 64 forward and backward, both with batch 32.\n\n\
         | grows | size | µs | MFLOP | GFLOP/s |\n|---|--:|--:|--:|--:|\n",
        growth.machine
    );
    for (axis, points) in by_axis(&growth.points) {
        for point in points {
            let speed = point.mflop / point.microseconds * 1e3;
            let _ = writeln!(
                text,
                "| {axis} | {} | {:.1} | {:.2} | {speed:.1} |",
                point.size, point.microseconds, point.mflop
            );
        }
    }
    match growth.cliffs.as_slice() {
        [] => {
            let _ = writeln!(
                text,
                "\nNo cliff: from one size to the next, an operation never becomes more than {CLIFF} times as dear."
            );
        }
        cliffs => {
            text.push_str("\nCliffs, where an operation becomes much dearer from one size to the next:\n\n");
            for cliff in cliffs {
                let _ = writeln!(
                    text,
                    "- {} {} to {}: {:.1} times as dear",
                    cliff.axis, cliff.from, cliff.to, cliff.times_dearer
                );
            }
        }
    }
    text.push_str("\n## Memory of large stores\n\nThe most a process held that fills such a store and samples from it.\n\n| store | MiB |\n|---|--:|\n");
    for store in &growth.stores {
        let _ = writeln!(text, "| {} | {} |", store.store, store.peak_mib);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Cliff, point};
    use super::*;
    use crate::bench::machine::Machine;

    #[test]
    fn cliffs_are_named_and_their_absence_too() {
        let mut growth = Growth {
            machine: Machine::find(),
            points: vec![point("width", 32.0, 10.0, 1.0)],
            cliffs: Vec::new(),
            stores: Vec::new(),
        };
        assert!(markdown(&growth).contains("No cliff"));
        growth.cliffs.push(Cliff { axis: "width".into(), from: 32.0, to: 64.0, times_dearer: 2.0 });
        let text = markdown(&growth);
        assert!(text.contains("- width 32 to 64: 2.0 times as dear") && !text.contains("No cliff"), "{text}");
    }
}
