//! Keys that had another name once: older run files and checkpoints go on working.

/// What a setting was called before, and what it is called now. An old name counts only where an algorithm has no key of that
/// name itself.
const RENAMED: &[(&str, &str)] =
    &[("cell", "memory"), ("noise_clip", "target_noise_clip"), ("gradient_updates_per_step", "gradient_steps")];

/// Today's name of a key, if it had another one.
pub fn renamed(key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == key).map(|(_, new)| *new)
}
