//! What rows of recorded transitions need before they are learned from.

use crate::agent::LearnError;
use axiomrl_core::{Batch, NEXT_ACTION_KNOWN};

/// Recorded actions may lie on the bounds, which a squashed policy never reaches: its density has no end there.
const INSIDE: f32 = 1.0 - 1e-5;

/// Columns of a batch as they are learned from.
pub struct Recorded {
    /// Within the bounds of a squashed policy.
    pub action: Vec<f32>,
    /// Without the rows that lack what is needed.
    pub valid: Vec<bool>,
}

impl Recorded {
    /// `next_action` says whether rows without a recorded next action are to be skipped.
    pub fn of(batch: &Batch, next_action: bool) -> Result<Self, LearnError> {
        let action = batch.action.iter().map(|action| action.clamp(-INSIDE, INSIDE)).collect();
        let mut valid = batch.valid.clone();
        if next_action {
            let known = column(batch, NEXT_ACTION_KNOWN)?;
            valid.iter_mut().zip(known).for_each(|(valid, known)| *valid &= *known > 0.0);
        }
        Ok(Self { action, valid })
    }
}

/// A column that only some sources have.
pub fn column<'a>(batch: &'a Batch, name: &str) -> Result<&'a [f32], LearnError> {
    let missing = || LearnError::Other(format!("the transitions have no column `{name}`").into());
    batch.extra(name).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::{BatchShape, Extra};

    #[test]
    fn actions_stay_inside_and_rows_without_a_next_action_are_skipped() {
        let mut batch = Batch::default();
        batch.resize(&BatchShape { steps: 1, action_width: 1, ..BatchShape::default() }, 3);
        batch.action = vec![1.0, -1.0, 0.25];
        batch.valid = vec![true, true, false];
        let plain = Recorded::of(&batch, false).unwrap();
        assert_eq!((plain.action, plain.valid), (vec![INSIDE, -INSIDE, 0.25], vec![true, true, false]));
        let refused = Recorded::of(&batch, true).err().unwrap().to_string();
        assert!(refused.contains("next_action_known"), "{refused}");
        batch.extra.push(Extra { name: "next_action_known".into(), width: 1, values: vec![0.0, 1.0, 1.0] });
        assert_eq!(Recorded::of(&batch, true).unwrap().valid, [false, true, false]);
    }
}
