//! Time per update against the size of the task, one axis at a time: JSON lines for the plot that `xtask` draws.

use crate::recurrence::sequence;
use crate::sac::{self, SacShape};
use crate::timing::{Timer, Work};
use crate::vision::image;
use axiomrl_nn::CellKind;
use serde_json::json;

struct Axis {
    name: &'static str,
    sizes: &'static [usize],
    work: fn(usize) -> Work,
}

const AXES: &[Axis] = &[
    Axis {
        name: "width",
        sizes: &[32, 64, 128, 256, 512, 1024],
        work: |width| sac::work(SacShape { width, ..SacShape::default() }),
    },
    Axis {
        name: "batch",
        sizes: &[32, 64, 128, 256, 512, 1024, 2048, 4096],
        work: |rows| sac::work(SacShape { rows, ..SacShape::default() }),
    },
    Axis {
        name: "critics",
        sizes: &[1, 2, 3, 5, 10, 20],
        work: |critics| sac::work(SacShape { critics, ..SacShape::default() }),
    },
    Axis { name: "image", sizes: &[16, 24, 32, 48, 64, 84], work: image },
    Axis { name: "sequence", sizes: &[4, 8, 16, 32, 64], work: |steps| sequence(CellKind::Lstm, steps) },
];

pub fn run(timer: &Timer) {
    for axis in AXES {
        for &size in axis.sizes {
            let mut work = (axis.work)(size);
            let microseconds = timer.best(&mut work.call);
            let line = json!({
                "axis": axis.name, "size": size, "microseconds": microseconds, "mflop": work.flops / 1e6,
                "threads": timer.threads, "work": work.title,
            });
            println!("{line}");
        }
    }
}
