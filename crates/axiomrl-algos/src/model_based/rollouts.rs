//! Branched rollouts: short imagined episodes that begin where the run, or its record, has really been.

use super::dynamics::{Dynamics, Prediction};
use super::termination::{Ends, Imagined};
use crate::agent::LearnError;
use axiomrl_core::random::{below, normal};
use axiomrl_core::{Generated, Generation, Rng};

/// What imagined steps are made of.
pub struct Imagination<'a> {
    pub model: &'a Dynamics,
    pub ends: &'a Ends,
    /// Brings imagined observations back to possible ones.
    pub project: bool,
    /// Lowest and highest observation and reward that are believed.
    pub range: Option<&'a DataRange>,
    /// Price of the model's doubt in units of reward; 0 asks only the member that was drawn.
    pub penalty: f32,
}

/// What an imagined piece came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Imagining {
    /// Transitions that were stored.
    pub rows: usize,
    /// Those left out because a number of theirs was none.
    pub dropped: usize,
    pub reward: f64,
    pub penalty: f64,
}

/// The span of what was seen, a tenth wider on either side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataRange {
    pub low: Vec<f32>,
    pub high: Vec<f32>,
}

impl DataRange {
    /// Of rows of these many columns.
    pub fn of(rows: &[f32], width: usize) -> Self {
        let mut range = Self { low: vec![f32::INFINITY; width], high: vec![f32::NEG_INFINITY; width] };
        for row in rows.chunks_exact(width) {
            for (column, x) in row.iter().enumerate() {
                range.low[column] = range.low[column].min(*x);
                range.high[column] = range.high[column].max(*x);
            }
        }
        for (low, high) in range.low.iter_mut().zip(&mut range.high) {
            let wider = 0.1 * (*high - *low);
            (*low, *high) = (*low - wider, *high + wider);
        }
        range
    }

    fn clip(&self, column: usize, x: f32) -> f32 {
        // Not `clamp`: what is no number must stay none.
        if x < self.low[column] {
            self.low[column]
        } else if x > self.high[column] {
            self.high[column]
        } else {
            x
        }
    }
}

/// Rolls on from `starts` for up to `length` steps. `act` draws actions of the policy for rows of raw observations.
pub fn branch(
    imagination: &Imagination<'_>,
    starts: Vec<f32>,
    length: u64,
    rng: &mut Rng,
    act: &mut dyn FnMut(&[f32], usize, &mut Rng, &mut Vec<f32>) -> Result<(), LearnError>,
    into: &mut Generated,
) -> Result<Imagining, LearnError> {
    let width = into_width(imagination);
    let (mut obs, mut action, mut total) = (starts, Vec::new(), Imagining::default());
    for _ in 0..length {
        let rows = obs.len() / width;
        if rows == 0 {
            break;
        }
        // a ~ pi(s);  [r, s' - s] ~ N(mu_i(s, a), sigma_i(s, a)^2),  i an elite drawn for each row
        act(&obs, rows, rng, &mut action)?;
        let Guess { reward, next_obs, penalty } = imagination.guess(&obs, &action, rows, rng);
        let mut terminated = vec![false; rows];
        imagination.ends.judge(Imagined { obs: &obs, action: &action, next_obs: &next_obs }, None, &mut terminated)?;
        let actions = action.len() / rows;
        let mut alive = Vec::with_capacity(obs.len());
        for row in 0..rows {
            let (from, to) = (&obs[row * width..(row + 1) * width], &next_obs[row * width..(row + 1) * width]);
            let worth = reward[row] - imagination.penalty * penalty[row];
            if !(worth.is_finite() && to.iter().all(|x| x.is_finite())) {
                total.dropped += 1;
                continue;
            }
            let action = &action[row * actions..(row + 1) * actions];
            let terminated = terminated[row];
            into.push(Generation { obs: from, action, reward: worth, next_obs: to, terminated });
            total.rows += 1;
            total.reward += f64::from(reward[row]);
            total.penalty += f64::from(imagination.penalty * penalty[row]);
            // The row is stored before it is left.
            if !terminated {
                alive.extend_from_slice(to);
            }
        }
        obs = alive;
    }
    Ok(total)
}

fn into_width(imagination: &Imagination<'_>) -> usize {
    imagination.model.outputs() - 1
}

/// What the model makes of a step of each row.
struct Guess {
    reward: Vec<f32>,
    next_obs: Vec<f32>,
    /// The largest length of a member's deviations.
    penalty: Vec<f32>,
}

impl Imagination<'_> {
    fn guess(&self, obs: &[f32], action: &[f32], rows: usize, rng: &mut Rng) -> Guess {
        let (model, outputs) = (self.model, self.model.outputs());
        let width = outputs - 1;
        let (mut inputs, mut said) = (Vec::new(), Prediction::default());
        model.inputs(obs, action, &mut inputs);
        let elites = model.elites();
        let chosen: Vec<usize> = (0..rows).map(|_| elites[below(rng, elites.len())]).collect();
        let mut penalty = vec![0.0; rows];
        if self.penalty > 0.0 {
            let mut all = Prediction::default();
            model.predict_all(&inputs, rows, &mut all);
            for (row, penalty) in penalty.iter_mut().enumerate() {
                let members = (0..model.members()).map(|member| (member * rows + row) * outputs);
                *penalty = largest_deviation(members.map(|at| &all.std[at..at + outputs]));
                let own = (chosen[row] * rows + row) * outputs;
                said.mean.extend_from_slice(&all.mean[own..own + outputs]);
                said.std.extend_from_slice(&all.std[own..own + outputs]);
            }
        } else {
            model.predict(&inputs, &chosen, &mut said);
        }
        let mut guess = Guess { reward: Vec::with_capacity(rows), next_obs: Vec::with_capacity(obs.len()), penalty };
        for (row, from) in obs.chunks_exact(width).enumerate() {
            let at = row * outputs..(row + 1) * outputs;
            let noise = std::iter::repeat_with(|| normal(rng));
            sample(&said.mean[at.clone()], &said.std[at], from, noise, &mut guess.reward, &mut guess.next_obs);
        }
        if self.project {
            self.ends.project(&mut guess.next_obs);
        }
        if let Some(range) = self.range {
            guess.reward.iter_mut().for_each(|reward| *reward = range.clip(0, *reward));
            for (at, x) in guess.next_obs.iter_mut().enumerate() {
                *x = range.clip(1 + at % width, *x);
            }
        }
        guess
    }
}

/// Draws reward and next observation of a row: fresh noise for every output, the reward's too.
fn sample(
    mean: &[f32],
    std: &[f32],
    obs: &[f32],
    noise: impl Iterator<Item = f32>,
    reward: &mut Vec<f32>,
    next_obs: &mut Vec<f32>,
) {
    let mut drawn = mean.iter().zip(std).zip(noise).map(|((mean, std), noise)| mean + std * noise);
    reward.extend(drawn.next());
    next_obs.extend(obs.iter().zip(drawn).map(|(from, change)| from + change));
}

/// How unsure the most unsure member is: the length of its deviations of all outputs, the reward's among them.
fn largest_deviation<'a>(members: impl Iterator<Item = &'a [f32]>) -> f32 {
    let lengths = members.map(|std| std.iter().map(|std| std * std).sum::<f32>().sqrt());
    // What is no number must not be passed over.
    lengths.fold(0.0, |largest, length| if length > largest || length.is_nan() { length } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_use_the_deviation_and_not_the_variance() {
        let log_var = [0.0, 2.0 * 0.5f32.ln(), 0.0];
        let std = log_var.map(|log_var: f32| (0.5 * log_var).exp());
        let (mut reward, mut next) = (Vec::new(), Vec::new());
        sample(&[5.0, 0.1, 0.2], &std, &[1.0, 2.0], [1.0, 2.0, 0.0].into_iter(), &mut reward, &mut next);
        assert_eq!(reward, [6.0]);
        assert!((next[0] - 2.1).abs() < 1e-6 && (next[1] - 2.2).abs() < 1e-6, "{next:?}");
    }

    /// The second member is no elite, and counts; the reward's deviation counts, too.
    #[test]
    fn the_price_is_that_of_the_most_unsure_member() {
        let std: [&[f32]; 3] = [&[0.3, 0.4], &[0.6, 0.0], &[0.1, 0.1]];
        let price = largest_deviation(std.into_iter());
        assert!((-1.0 - 2.0 * price - -2.2).abs() < 1e-6, "{price}");
        assert!(largest_deviation([&[f32::NAN][..], &[1.0]].into_iter()).is_nan());
    }

    #[test]
    fn what_is_believed_is_what_was_seen_and_a_little_more() {
        let range = DataRange::of(&[0.0, 5.0, 10.0, 5.0], 2);
        assert_eq!([-3.0, 4.0, 20.0].map(|x| range.clip(0, x)), [-1.0, 4.0, 11.0]);
        assert!(range.clip(1, f32::NAN).is_nan() && range.clip(1, 9.0) == 5.0);
    }
}
