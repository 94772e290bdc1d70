//! How well the model foresees what was not shown to it.

use super::model::WorldModel;
use super::sequence::Sequence;
use axiomrl_core::Rng;

/// Rows that are foreseen.
const ROWS: usize = 5;

/// The squared error of rows that are predicted from the state before them and the recorded actions alone, as a part of that of
/// showing the last observation again. `None` where nothing changes, or nothing is left before a reset.
pub fn open_loop_error(model: &WorldModel, sequence: &Sequence<'_>, features: &[f32], rng: &mut Rng) -> Option<f32> {
    let (rows, width) = (sequence.rows, model.features());
    let ahead = ROWS.min(sequence.steps - 1);
    let known = sequence.steps - ahead;
    let latent = model.rssm.spec.latent;
    let start = &features[(known - 1) * rows * width..known * rows * width];
    let truth = |t: usize| model.reconstruction.truth(sequence.obs.range(t * rows..(t + 1) * rows));
    let last = truth(known - 1);
    let mut imagined = model.rssm.imagine(start, rows);
    let (mut alive, mut predicted, mut repeated) = (vec![true; rows], 0.0, 0.0);
    let action = sequence.actions.len() / (sequence.steps * rows);
    for t in known..sequence.steps {
        let noise = latent.draw_noise(rows, rng);
        imagined.step(&sequence.actions[t * rows * action..(t + 1) * rows * action], &noise);
        alive.iter_mut().zip(&sequence.is_first[t * rows..]).for_each(|(alive, first)| *alive &= !first);
        let (shown, seen) = (model.reconstruction.decode(imagined.features(), rows), truth(t));
        let errors = shown.distances(&seen, rows).into_iter().zip(last.distances(&seen, rows));
        for ((own, copied), _) in errors.zip(&alive).filter(|(_, alive)| **alive) {
            predicted += own;
            repeated += copied;
        }
    }
    (repeated > 1e-6).then(|| predicted / repeated)
}
