//! The algorithms that are settings of this learner, a file each: the settings and the page.

use super::settings::WorldModelConfig;
use crate::registry::presets;

presets! {
    /// Learn a model of the world and act by what it imagines.
    VARIANTS: WorldModelConfig => "world_model/presets", dreamer, dreamerv3
}

impl Default for WorldModelConfig {
    fn default() -> Self {
        dreamerv3()
    }
}
