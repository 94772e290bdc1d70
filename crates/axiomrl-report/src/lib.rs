//! What runs came to: read from their folders, compared with intervals, drawn.
//!
//! Nothing here knows an algorithm or an environment: a run is what its folder says, so that folders of other versions and of
//! other machines can be read too.

mod chart;
mod compare;
mod curve;
mod glyphs;
mod groups;
mod html;
mod png;
mod run;
mod scene;
mod svg;
mod terminal;

pub use chart::{Band, Chart, Line};
pub use compare::{Comparison, Estimate, Profile, compare, profiles};
pub use curve::curve;
pub use groups::{Group, group};
pub use html::{Page, Section};
pub use run::{ReportError, Run, SCORE, find};
