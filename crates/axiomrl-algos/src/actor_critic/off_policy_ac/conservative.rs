//! The gap by which critics value other actions above the recorded one: what a conservative critic keeps small.

use super::settings::AcConfig;
use crate::parts::squashed_actor::{Counted, Drawn};
use crate::state::{StateError, StateIo};
use axiomrl_core::random::uniform;
use axiomrl_envs::Rng;
use axiomrl_nn::{AdamConfig, Optimizer, OptimizerConfig, Params};

/// Highest factor that an adapted weight may reach.
const LARGEST_FACTOR: f32 = 1e6;

/// Other actions for every entry of a batch, entry after entry: random ones, those of the policy there, and those of the policy
/// at what follows. All are valued in what the entry saw.
pub struct Proposals {
    /// Actions of each kind per entry.
    samples: usize,
    entries: usize,
    width: usize,
    /// `[entries, 3 * samples, width]`
    action: Vec<f32>,
    /// `[entries, 3 * samples]`: how densely each was drawn
    log_density: Vec<f32>,
    /// What was earned from each entry on, where the policy's actions are not to be valued below that.
    pub earned: Option<Vec<f32>>,
}

impl Proposals {
    /// Random actions; those of the policy are still to be [`put`](Self::put).
    pub fn random(entries: usize, samples: usize, width: usize, rng: &mut Rng) -> Self {
        let each = 3 * samples;
        let mut all = Self {
            samples,
            entries,
            width,
            action: vec![0.0; entries * each * width],
            log_density: vec![-(width as f32) * std::f32::consts::LN_2; entries * each],
            earned: None,
        };
        for row in all.action.chunks_exact_mut(each * width) {
            row[..samples * width].iter_mut().for_each(|a| *a = (2.0 * uniform(rng) - 1.0) as f32);
        }
        all
    }

    /// The policy's draws, `samples` for each entry one after the other: of what the entries saw (1) or of what followed (2).
    pub fn put(&mut self, kind: usize, drawn: &Drawn) {
        let (n, each, width) = (self.samples, 3 * self.samples, self.width);
        for entry in 0..self.entries {
            let (to, from) = (entry * each + kind * n, entry * n);
            self.action[to * width..(to + n) * width].copy_from_slice(&drawn.action[from * width..(from + n) * width]);
            self.log_density[to..to + n].copy_from_slice(&drawn.log_prob[from..from + n]);
        }
    }

    /// Rows for the critics behind those of the entries themselves: what was seen, with each of its actions. Gives their number.
    pub fn append_to(&self, seen: &[f32], joint: &mut Vec<f32>) -> usize {
        let (each, width) = (3 * self.samples, seen.len() / self.entries);
        for (seen, actions) in seen.chunks_exact(width).zip(self.action.chunks_exact(each * self.width)) {
            for action in actions.chunks_exact(self.width) {
                joint.extend_from_slice(seen);
                joint.extend_from_slice(action);
            }
        }
        self.entries * each
    }
}

/// How the gap is formed, and what it weighs.
pub struct Conservative {
    weight: f32,
    temperature: f32,
    low: f32,
    high: f32,
    lagrange: Option<Lagrange>,
}

/// A factor on the weight that grows while the gap is above its target.
struct Lagrange {
    target: f32,
    log: Params,
    optimizer: Optimizer,
}

impl Lagrange {
    fn factor(&self) -> f32 {
        self.log.as_slice()[0].exp().min(LARGEST_FACTOR)
    }
}

impl Conservative {
    /// Unless the gap weighs nothing.
    pub fn new(config: &AcConfig) -> Option<Self> {
        let lagrange = |target| Lagrange {
            target,
            log: Params::from_vec(1, 1, vec![0.0]),
            optimizer: Optimizer::new(&OptimizerConfig::Adam(AdamConfig::default()), 1),
        };
        (config.cql_alpha > 0.0).then(|| Self {
            weight: config.cql_alpha,
            temperature: config.cql_temperature,
            low: config.cql_gap_min.unwrap_or(f32::NEG_INFINITY),
            high: config.cql_gap_max.unwrap_or(f32::INFINITY),
            lagrange: config.cql_target_gap.map(lagrange),
        })
    }

    /// What the gap weighs now.
    pub fn weight(&self) -> f32 {
        self.weight * self.lagrange.as_ref().map_or(1.0, Lagrange::factor)
    }

    /// Adds the gradient of `weight * sum_i gap_i` to that of the outputs, and gives the gap of each critic. Of each member's
    /// `rows_each` values the first are those of recorded actions, an entry each, and behind them lie those of the proposals.
    pub fn add(
        &self,
        out: &[f32],
        rows_each: usize,
        proposals: &Proposals,
        counted: Counted<'_>,
        gradient: &mut [f32],
    ) -> Vec<f32> {
        let (entries, each, n) = (proposals.entries, 3 * proposals.samples, proposals.samples);
        let (share, weight) = (1.0 / counted.count as f32, self.weight());
        let mut slopes = vec![0.0; each];
        let members = out.chunks_exact(rows_each).zip(gradient.chunks_exact_mut(rows_each));
        let gap_of = |(out, gradient): (&[f32], &mut [f32])| {
            let mut mean = 0.0;
            for entry in (0..entries).filter(|&entry| counted.valid[entry]) {
                let at = entries + entry * each;
                let density = &proposals.log_density[entry * each..(entry + 1) * each];
                let earned = proposals.earned.as_ref().map_or(f32::NEG_INFINITY, |earned| earned[entry]);
                let soft = soft_maximum(&out[at..at + each], density, n, earned, self.temperature, &mut slopes);
                let gap = soft - out[entry];
                mean += share * gap.clamp(self.low, self.high);
                if (self.low..=self.high).contains(&gap) {
                    gradient[entry] -= weight * share;
                    let places = gradient[at..at + each].iter_mut().zip(&slopes);
                    places.for_each(|(g, slope)| *g += weight * share * slope);
                }
            }
            mean
        };
        members.map(gap_of).collect()
    }

    /// What the gaps of the critics add to their loss.
    pub fn loss(&self, gaps: &[f32]) -> f32 {
        let target = self.lagrange.as_ref().map_or(0.0, |lagrange| lagrange.target);
        self.weight() * gaps.iter().map(|gap| gap - target).sum::<f32>()
    }

    /// One step of the factor, where there is one: up the mean of `weight * (gap_i - target)`.
    pub fn adapt(&mut self, gaps: &[f32], rate: f32) {
        let weight = self.weight();
        let Some(lagrange) = &mut self.lagrange else { return };
        let above = gaps.iter().map(|gap| gap - lagrange.target).sum::<f32>() / gaps.len() as f32;
        let free = lagrange.log.as_slice()[0].exp() < LARGEST_FACTOR;
        let slope = if free || above < 0.0 { -weight * above } else { 0.0 };
        lagrange.optimizer.step(&mut lagrange.log, &[slope], rate, 1.0);
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let Some(lagrange) = &mut self.lagrange else { return Ok(()) };
        io.params("log_cql_factor", &mut lagrange.log)?;
        io.optimizer("cql_factor", &mut lagrange.optimizer)
    }
}

/// `T * log sum exp((Q - log density) / T)` over the actions of an entry, the last of which, from `policy` on, are not valued
/// below `earned`. `slopes` receives its derivative by each value: none where it is what was earned that counts.
fn soft_maximum(
    values: &[f32],
    log_density: &[f32],
    policy: usize,
    earned: f32,
    temperature: f32,
    slopes: &mut [f32],
) -> f32 {
    let lifted = |at: usize| at >= policy && values[at] < earned;
    let score = |at: usize| {
        let value = if lifted(at) { earned } else { values[at] };
        (value - log_density[at]) / temperature
    };
    let largest = (0..values.len()).map(score).fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for (at, slope) in slopes.iter_mut().enumerate() {
        *slope = axiomrl_nn::math::exp(score(at) - largest);
        sum += *slope;
    }
    for (at, slope) in slopes.iter_mut().enumerate() {
        *slope = if lifted(at) { 0.0 } else { *slope / sum };
    }
    temperature * (largest + sum.ln())
}

#[cfg(test)]
mod tests {
    use super::super::presets;
    use super::*;

    /// One entry with one action of each kind, in the order random, there, after.
    fn proposals(earned: Option<f32>) -> Proposals {
        let log_density = vec![-std::f32::consts::LN_2, -0.5, 0.3];
        let earned = earned.map(|earned| vec![earned]);
        Proposals { samples: 1, entries: 1, width: 1, action: vec![0.0; 3], log_density, earned }
    }

    fn conservative(change: impl FnOnce(&mut AcConfig)) -> Conservative {
        let mut config = AcConfig { cql_alpha: 1.0, ..presets::cql() };
        change(&mut config);
        Conservative::new(&config).unwrap()
    }

    /// The gap of one critic and its gradient: values of the recorded action, then of random, there and after.
    fn gap(conservative: &Conservative, out: &[f32], proposals: &Proposals) -> (f32, Vec<f32>) {
        let mut gradient = vec![0.0; 4];
        let gaps = conservative.add(out, 4, proposals, Counted::of(&[true]), &mut gradient);
        (gaps[0], gradient)
    }

    fn close(found: &[f32], wanted: &[f32], within: f32) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < within), "{found:?} is not {wanted:?}");
    }

    const VALUES: [f32; 4] = [1.5, 1.0, 2.0, 0.0];

    #[test]
    fn the_gap_by_hand() {
        let (found, gradient) = gap(&conservative(|_| {}), &VALUES, &proposals(None));
        close(&[found], &[1.41017], 1e-5);
        close(&gradient, &[-1.0, 0.2961, 0.6635, 0.0403], 1e-4);
        // A flat critic and a policy that is as uniform as the random actions: 30 equal terms, each ln 2 up.
        let mut flat = Proposals::random(2, 10, 1, &mut axiomrl_core::stream(1, "test"));
        flat.log_density.fill(-std::f32::consts::LN_2);
        let gaps = conservative(|_| {}).add(&[0.7; 62], 62, &flat, Counted::of(&[true; 2]), &mut [0.0; 62]);
        close(&gaps, &[4.09434], 1e-5);
    }

    #[test]
    fn what_was_earned_lifts_the_policys_actions_and_no_others() {
        let conservative = conservative(|_| {});
        let (found, gradient) = gap(&conservative, &VALUES, &proposals(Some(1.0)));
        close(&[found], &[1.47720], 1e-5);
        // The action of what follows is worth what was earned: the critic cannot change that.
        assert_eq!(gradient[3], 0.0);
        assert!(gradient[1] > 0.0 && gradient[2] > 0.0 && gradient[0] == -1.0);
        // An unfinished episode bounds nothing.
        assert_eq!(
            gap(&conservative, &VALUES, &proposals(Some(f32::NEG_INFINITY))),
            gap(&conservative, &VALUES, &proposals(None))
        );
        // Random and recorded actions stay as they are, however much was earned.
        let (high, gradient) = gap(&conservative, &VALUES, &proposals(Some(100.0)));
        close(&[high], &[100.5 + (-0.8f32).exp().ln_1p() - 1.5], 1e-4);
        assert_eq!(gradient[2..], [0.0, 0.0]);
    }

    #[test]
    fn gradients_by_finite_differences() {
        let softer = conservative(|config| config.cql_temperature = 2.0);
        for (conservative, earned) in
            [(&conservative(|_| {}), None), (&conservative(|_| {}), Some(1.0)), (&softer, Some(0.5))]
        {
            let proposals = proposals(earned);
            let (_, gradient) = gap(conservative, &VALUES, &proposals);
            for at in 0..4 {
                let moved = |step: f32| {
                    let mut values = VALUES;
                    values[at] += step;
                    gap(conservative, &values, &proposals).0
                };
                close(&[gradient[at]], &[(moved(1e-2) - moved(-1e-2)) / 2e-2], 1e-3);
            }
        }
    }

    #[test]
    fn a_gap_beyond_its_bounds_has_no_gradient() {
        let bounded = conservative(|config| config.cql_gap_max = Some(1.0));
        assert_eq!(gap(&bounded, &VALUES, &proposals(None)), (1.0, vec![0.0; 4]));
        let bounded = conservative(|config| config.cql_gap_min = Some(2.0));
        assert_eq!(gap(&bounded, &VALUES, &proposals(None)), (2.0, vec![0.0; 4]));
        let bounded = conservative(|config| (config.cql_gap_min, config.cql_gap_max) = (Some(-1.0), Some(2.0)));
        assert_eq!(gap(&bounded, &VALUES, &proposals(None)), gap(&conservative(|_| {}), &VALUES, &proposals(None)));
    }

    #[test]
    fn entries_that_do_not_count_have_no_gap() {
        let mut two = Proposals::random(2, 1, 1, &mut axiomrl_core::stream(1, "test"));
        let mut drawn = Drawn::default();
        (drawn.action, drawn.log_prob) = (vec![0.1, 0.2], vec![-0.5; 2]);
        two.put(1, &drawn);
        (drawn.action, drawn.log_prob) = (vec![0.3, 0.4], vec![0.3; 2]);
        two.put(2, &drawn);
        assert_eq!((two.action[1], two.action[2], two.action[4], two.action[5]), (0.1, 0.3, 0.2, 0.4));
        // Two critics: recorded values of both entries, then three proposals of each.
        let member = [1.5, 9.0, 1.0, 2.0, 0.0, 5.0, 5.0, 5.0];
        let (out, mut gradient) = ([member, member].concat(), vec![0.0; 16]);
        let gaps = conservative(|_| {}).add(&out, 8, &two, Counted::of(&[true, false]), &mut gradient);
        close(&gaps, &[1.41017, 1.41017], 1e-5);
        assert!([1, 5, 6, 7, 9, 13, 14, 15].iter().all(|&at| gradient[at] == 0.0) && gradient[8] == -1.0);
    }

    #[test]
    fn rows_for_the_critics_repeat_what_was_seen() {
        let mut two = Proposals::random(2, 1, 1, &mut axiomrl_core::stream(1, "test"));
        two.action = vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let mut joint = vec![9.0];
        assert_eq!(two.append_to(&[7.0, 8.0], &mut joint), 6);
        assert_eq!(joint, [9.0, 7.0, 0.1, 7.0, 0.2, 7.0, 0.3, 8.0, 0.4, 8.0, 0.5, 8.0, 0.6]);
    }

    #[test]
    fn random_actions_fill_the_box() {
        let all = Proposals::random(100, 4, 2, &mut axiomrl_core::stream(1, "test"));
        let random: Vec<f32> = all.action.chunks_exact(24).flat_map(|row| &row[..8]).copied().collect();
        let mean = random.iter().sum::<f32>() / random.len() as f32;
        let (low, high) = random.iter().fold((0.0f32, 0.0f32), |(low, high), &a| (low.min(a), high.max(a)));
        assert!(mean.abs() < 0.1 && low < -0.95 && high > 0.95 && low >= -1.0 && high <= 1.0);
        close(&all.log_density[..1], &[-2.0 * std::f32::consts::LN_2], 1e-6);
    }

    #[test]
    fn the_factor_grows_while_the_gap_is_above_its_target() {
        let mut adapted = conservative(|config| (config.cql_alpha, config.cql_target_gap) = (5.0, Some(1.0)));
        assert_eq!((adapted.weight(), adapted.loss(&[3.0, 2.0])), (5.0, 5.0 * (2.0 + 1.0)));
        adapted.adapt(&[3.0, 2.0], 0.1);
        let grown = adapted.weight();
        assert!((grown - 5.0 * 0.1f32.exp()).abs() < 1e-4, "one step of Adam: {grown}");
        adapted.adapt(&[-30.0, -20.0], 0.1);
        assert!(adapted.weight() < grown);
        // Without a target the weight stays.
        let mut fixed = conservative(|_| {});
        fixed.adapt(&[30.0], 0.1);
        assert_eq!(fixed.weight(), 1.0);
    }

    #[test]
    fn the_factor_stays_within_its_bound() {
        let mut adapted = conservative(|config| config.cql_target_gap = Some(0.0));
        (0..40).for_each(|_| adapted.adapt(&[1.0], 1.0));
        assert_eq!(adapted.weight(), LARGEST_FACTOR);
        (0..60).for_each(|_| adapted.adapt(&[-1.0], 1.0));
        assert!(adapted.weight() < 1.0, "{}", adapted.weight());
    }
}
