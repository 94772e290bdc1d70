//! What those hand over who write the loop themselves: steps that somebody else took.

use crate::agent::{Clock, LearnError};
use axiomrl_core::{Metrics, Rng, check_action, check_observation};
use axiomrl_envs::{ActionMap, ObsBuf, Spaces};

/// Why something is not done. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Never, with this algorithm.
    #[error("this algorithm {0}")]
    Unsupported(String),
    /// Not now.
    #[error("{0}")]
    NotYet(String),
    /// What was handed over is at fault.
    #[error("{0}")]
    Rows(String),
}

/// Steps, row by row, in the environment's own units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    pub obs: ObsBuf,
    /// What each step led to, before any restart.
    pub next_obs: ObsBuf,
    /// The choices that were allowed; empty without masks.
    pub masks: Vec<bool>,
    pub next_masks: Vec<bool>,
    pub action: Vec<f32>,
    pub reward: Vec<f32>,
    pub terminated: Vec<bool>,
    /// Ends by the clock. Where the world ended as well, that is what counts.
    pub truncated: Vec<bool>,
}

impl Transitions {
    pub fn rows(&self) -> usize {
        self.reward.len()
    }

    /// The actions as learners have them, once everything has proved sound.
    pub fn checked(&self, spaces: &Spaces, map: &ActionMap) -> Result<Vec<f32>, Refused> {
        self.check_lengths(spaces)?;
        let (obs, width) = (spaces.obs(), spaces.action.width());
        let mut unit = vec![0.0; self.action.len()];
        for row in 0..self.rows() {
            let at_fault = |problem: String| Refused::Rows(format!("row {row}: {problem}"));
            check_observation(&obs, self.obs.row(row)).map_err(at_fault)?;
            check_observation(&obs, self.next_obs.row(row)).map_err(|problem| at_fault(format!("next: {problem}")))?;
            if !self.reward[row].is_finite() {
                return Err(at_fault(format!("the reward is {}", self.reward[row])));
            }
            let at = row * width..(row + 1) * width;
            let action = &self.action[at.clone()];
            if let Some(bad) = action.iter().find(|number| !number.is_finite()) {
                return Err(at_fault(format!("the action has a {bad}")));
            }
            if map.to_unit(action, &mut unit[at.clone()]) > 0 {
                let problem =
                    format!("the action {action:?} is out of bounds; clip what the environment was given, too");
                return Err(at_fault(problem));
            }
            check_action(&spaces.action, &unit[at]).map_err(at_fault)?;
        }
        Ok(unit)
    }

    fn check_lengths(&self, spaces: &Spaces) -> Result<(), Refused> {
        let (rows, widths) = (self.rows(), spaces.obs().widths);
        if rows == 0 {
            return Err(Refused::Rows("there are no rows".into()));
        }
        for (name, found, each) in [
            ("observed numbers", self.obs.floats.len(), widths.floats),
            ("observed bytes", self.obs.bytes.len(), widths.bytes),
            ("numbers observed next", self.next_obs.floats.len(), widths.floats),
            ("bytes observed next", self.next_obs.bytes.len(), widths.bytes),
            ("mask entries", self.masks.len(), spaces.masks),
            ("next mask entries", self.next_masks.len(), spaces.masks),
            ("numbers of actions", self.action.len(), spaces.action.width()),
            ("`terminated` marks", self.terminated.len(), 1),
            ("`truncated` marks", self.truncated.len(), 1),
        ] {
            if found != rows * each {
                return Err(Refused::Rows(format!("{found} {name} for {rows} rows, each of which has {each}")));
            }
        }
        Ok(())
    }
}

/// Rows for one update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handed {
    pub rows: Transitions,
    /// What the value of the next observation counts; γ where the world did not end, unless it is given.
    pub discount: Option<Vec<f32>>,
    /// Importance weights, 1 unless they are given.
    pub weight: Option<Vec<f32>>,
}

impl Handed {
    /// As [`Transitions::checked`], for all columns.
    pub fn checked(&self, spaces: &Spaces, map: &ActionMap) -> Result<Vec<f32>, Refused> {
        let unit = self.rows.checked(spaces, map)?;
        for (name, column, most) in [("discount", &self.discount, 1.0), ("weight", &self.weight, f32::MAX)] {
            let Some(column) = column else { continue };
            if column.len() != self.rows.rows() {
                let (found, rows) = (column.len(), self.rows.rows());
                return Err(Refused::Rows(format!("{found} numbers in `{name}` for {rows} rows")));
            }
            if let Some(bad) = column.iter().find(|number| !(0.0..=most).contains(*number)) {
                return Err(Refused::Rows(format!("`{name}` has {bad}, which is none")));
            }
        }
        Ok(unit)
    }
}

/// A store of single steps that others may add to and look into.
pub trait Replay {
    /// Steps stored.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores steps as if the agent's own environment had shown them: all, or none. A row that begins with what the row before
    /// led to goes on with its episode. An episode that another row or the agent's own environment breaks off counts as cut
    /// off there.
    fn add(&mut self, given: &Transitions) -> Result<(), Refused>;

    /// So many of the steps as they are stored, each as likely as any other, drawn with replacement.
    fn sample(&self, rows: usize, rng: &mut Rng) -> Result<Transitions, Refused>;

    /// One update from these rows instead of stored ones: they are brought to scale like those. Says how many updates were made.
    fn learn(&mut self, given: &Handed, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::{BoxSpace, Space};

    fn spaces(action: Space) -> Spaces {
        Spaces::new(Space::Box(BoxSpace::uniform(1, -9.0, 9.0)), action)
    }

    fn row(spaces: &Spaces, action: &[f32]) -> Transitions {
        Transitions {
            obs: ObsBuf::zeros(spaces.obs().widths, 1),
            next_obs: ObsBuf::zeros(spaces.obs().widths, 1),
            action: action.to_vec(),
            reward: vec![1.0],
            terminated: vec![false],
            truncated: vec![false],
            ..Transitions::default()
        }
    }

    fn checked(spaces: &Spaces, given: &Transitions) -> Result<Vec<f32>, String> {
        given.checked(spaces, &ActionMap::of(&spaces.action).unwrap()).map_err(|refused| refused.to_string())
    }

    #[test]
    fn actions_reach_the_learners_units() {
        let of_box = spaces(Space::Box(BoxSpace::uniform(1, -2.0, 2.0)));
        assert_eq!(checked(&of_box, &row(&of_box, &[1.0])).unwrap(), [0.5]);
        let of_choices = spaces(Space::Discrete { n: 3 });
        assert_eq!(checked(&of_choices, &row(&of_choices, &[2.0])).unwrap(), [2.0]);
    }

    #[test]
    fn what_is_wrong_with_a_row_is_named() {
        let spaces = spaces(Space::Box(BoxSpace::uniform(1, -2.0, 2.0)));
        let good = || row(&spaces, &[1.0]);
        let (mut unseen, mut after, mut longer) = (good(), good(), good());
        unseen.obs.floats[0] = f32::NAN;
        after.next_obs.floats[0] = f32::INFINITY;
        longer.terminated.push(false);
        for (given, words) in [
            (Transitions { action: vec![2.5], ..good() }, "row 0: the action [2.5] is out of bounds"),
            (Transitions { action: vec![f32::NAN], ..good() }, "the action has a NaN"),
            (Transitions { action: vec![1.0; 2], ..good() }, "2 numbers of actions for 1 rows"),
            (Transitions { reward: vec![f32::INFINITY], ..good() }, "the reward is inf"),
            (Transitions { masks: vec![true], ..good() }, "1 mask entries"),
            (unseen, "row 0: NaN was observed"),
            (after, "next: inf was observed"),
            (longer, "2 `terminated` marks"),
            (Transitions::default(), "no rows"),
        ] {
            let refused = checked(&spaces, &given).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let choices = self::spaces(Space::Discrete { n: 3 });
        for wrong in [3.0, -1.0, 0.5] {
            let refused = checked(&choices, &row(&choices, &[wrong])).unwrap_err();
            assert!(refused.contains("none of the choices 0 to 2"), "{refused}");
        }
        let map = ActionMap::of(&spaces.action).unwrap();
        for (discount, words) in [(vec![1.5], "`discount` has 1.5"), (vec![0.5; 2], "2 numbers in `discount`")] {
            let handed = Handed { rows: good(), discount: Some(discount), weight: None };
            let refused = handed.checked(&spaces, &map).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
