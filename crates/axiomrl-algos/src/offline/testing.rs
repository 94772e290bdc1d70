//! What tests of learners with candidates ask of all of them.

use crate::policy::{ActContext, ActInput, Memory, Mode};
use crate::regimes::ReplayLearner;
use axiomrl_core::{Batch, stream};

/// It acts by the candidate that scores best, of as many for each row, and says that score as the value: the same again, however
/// much chance has moved on, and drawn anew where samples are asked for.
pub fn acts_by_the_best(learner: &mut dyn ReplayLearner, batch: &Batch, candidates: &[f32], scores: &[f32]) {
    let (each, d) = (scores.len() / batch.rows, candidates.len() / scores.len());
    let (input, mut rng, mut memory) = (ActInput::of(batch.obs()), stream(1, "act"), Memory::default());
    let (mut actions, mut values) = (vec![9.0; batch.rows * d], vec![9.0; batch.rows]);
    learner.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut actions).unwrap();
    assert!(learner.values(input, &mut values));
    for (row, own) in scores.chunks_exact(each).enumerate() {
        let best = (0..each).max_by(|&a, &b| own[a].total_cmp(&own[b])).unwrap();
        assert_eq!(actions[row * d..(row + 1) * d], candidates[(row * each + best) * d..][..d]);
        assert_eq!(values[row], own[best]);
    }
    let mut again = vec![9.0; batch.rows * d];
    learner.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut again).unwrap();
    assert_eq!(again, actions);
    learner.act(input, ActContext::new(&mut memory, Mode::Sample, &mut rng), &mut again).unwrap();
    assert_ne!(again, actions);
}
