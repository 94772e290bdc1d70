//! The returns of Retrace, and the gradient of policy and critic, on rows of plain numbers.

/// Keeps probabilities away from 0 where they are divided by or taken the logarithm of.
const GUARD: f32 = 1e-6;

/// What happened at a step, and what the networks of today make of it.
#[derive(Clone, Copy, Debug)]
pub struct RetraceStep {
    pub reward: f32,
    /// What follows is worth: of the observation that a window was cut at, nothing after a termination. None goes on.
    pub next: Option<f32>,
    /// Probability of the action now over what it was.
    pub ratio: f32,
    /// Q of the action.
    pub q: f32,
    /// V of the observation.
    pub v: f32,
}

/// The Retrace return of every step of a window, which must not go on after its last one.
pub fn retrace(steps: &[RetraceStep], gamma: f32) -> Vec<f32> {
    let mut targets = vec![0.0; steps.len()];
    let mut later = 0.0;
    for (target, step) in targets.iter_mut().zip(steps).rev() {
        *target = step.reward + gamma * step.next.unwrap_or(later);
        later = step.ratio.min(1.0) * (*target - step.q) + step.v;
    }
    targets
}

/// Weights and limits of the policy's gradient.
#[derive(Clone, Copy, Debug)]
pub struct AcerTerms {
    pub truncation: f32,
    pub trust_region: f32,
    pub entropy_weight: f32,
}

/// One step: the action, and for every action its probability now, then and on average, and its Q.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRow<'a> {
    pub action: usize,
    pub now: &'a [f32],
    pub then: &'a [f32],
    pub average: &'a [f32],
    pub q: &'a [f32],
    pub v: f32,
    /// The return less V.
    pub advantage: f32,
}

/// What the gradient of a step was made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowReport {
    /// -min(c, r) (q - V) ln f_a
    pub truncated: f32,
    /// -Σ max(0, 1 - c/r_j) f_j (Q_j - V) ln f_j
    pub correction: f32,
    pub entropy: f32,
    pub ratio: f32,
    /// Whether the projection did anything.
    pub projected: bool,
}

/// How the probability of an action now compares with what it was.
pub fn ratio(now: f32, then: f32) -> f32 {
    now / (then + GUARD)
}

/// The direction in which the probabilities should move, within the trust region: written to `u`. A forbidden action has
/// probability 0, and nothing moves it.
pub fn probability_gradient(row: PolicyRow<'_>, terms: AcerTerms, u: &mut [f32]) -> RowReport {
    let PolicyRow { action, now, then, average, q, v, advantage } = row;
    let c = terms.truncation;
    let mut report = RowReport { ratio: ratio(now[action], then[action]), ..RowReport::default() };
    for j in 0..now.len() {
        u[j] = 0.0;
        if now[j] <= 0.0 {
            continue;
        }
        let (weight, log) = (ratio(now[j], then[j]), (now[j] + GUARD).ln());
        if weight > c {
            let share = 1.0 - c / weight;
            u[j] += share * (q[j] - v);
            report.correction -= share * now[j] * (q[j] - v) * log;
        }
        u[j] -= terms.entropy_weight * (log + 1.0);
        report.entropy -= now[j] * log;
    }
    let weight = report.ratio.min(c);
    u[action] += weight * advantage / (now[action] + GUARD);
    report.truncated = -weight * advantage * (now[action] + GUARD).ln();
    // k, the gradient of KL(average ‖ now), by the probabilities.
    let k = |j: usize| if now[j] > 0.0 { -average[j] / (now[j] + GUARD) } else { 0.0 };
    let (along, length) =
        (0..now.len()).fold((0.0, 0.0), |(along, length), j| (along + k(j) * u[j], length + k(j) * k(j)));
    let factor = ((along - terms.trust_region) / (length + GUARD)).max(0.0);
    if factor > 0.0 {
        report.projected = true;
        (0..now.len()).for_each(|j| u[j] -= factor * k(j));
    }
    report
}

/// The gradient of the loss by the logits, where the probabilities should move along `u`.
pub fn by_logits(now: &[f32], u: &[f32], share: f32, out: &mut [f32]) {
    let mean: f32 = now.iter().zip(u).map(|(f, u)| f * u).sum();
    for ((out, f), u) in out.iter_mut().zip(now).zip(u) {
        *out = -share * f * (u - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(ratio: f32, next: Option<f32>) -> Vec<f32> {
        let first = RetraceStep { reward: 1.0, next: None, ratio: 1.0, q: 2.0, v: 2.5 };
        let second = RetraceStep { reward: 1.0, next, ratio, q: 3.0, v: 2.0 };
        retrace(&[first, second], 0.9)
    }

    fn near(found: &[f32], wanted: &[f32]) {
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-4), "{found:?} {wanted:?}");
    }

    #[test]
    fn retrace_by_hand() {
        near(&window(0.5, Some(4.0)), &[3.52, 4.6]);
        near(&window(1.0, Some(4.0)), &[4.24, 4.6]);
        near(&window(7.0, Some(4.0)), &[4.24, 4.6]);
        // A termination at the second step: nothing follows.
        near(&window(1.0, Some(0.0)), &[1.0, 1.0]);
    }

    const FREE: AcerTerms = AcerTerms { truncation: 10.0, trust_region: 1e9, entropy_weight: 0.0 };

    fn row<'a>(average: &'a [f32], q: &'a [f32]) -> PolicyRow<'a> {
        PolicyRow { action: 0, now: &[0.9, 0.1], then: &[0.05, 0.95], average, q, v: 2.8, advantage: 4.0 - 2.8 }
    }

    #[test]
    fn a_row_by_hand() {
        let mut u = [0.0; 2];
        let report = probability_gradient(row(&[0.9, 0.1], &[3.0, 1.0]), FREE, &mut u);
        assert!((report.ratio - 18.0).abs() < 1e-3 && !report.projected);
        assert!((u[0] - (13.333_33 + 0.088_888_9)).abs() < 1e-3 && u[1] == 0.0, "{u:?}");
        // Without a limit there is no correction: the return alone, at its full weight.
        let terms = AcerTerms { truncation: 1e9, ..FREE };
        let report = probability_gradient(row(&[0.9, 0.1], &[3.0, 1.0]), terms, &mut u);
        assert!((u[0] - 18.0 * 1.2 / 0.9).abs() < 1e-2 && report.correction == 0.0, "{u:?}");
    }

    #[test]
    fn the_projection_by_hand() {
        // An advantage that makes u (-4, 0) before the projection.
        let advantage = -4.0 * 0.9 / 10.0;
        let own = PolicyRow { advantage, q: &[2.8, 2.8], ..row(&[0.5, 0.5], &[]) };
        let mut u = [0.0; 2];
        let terms = AcerTerms { trust_region: 1.0, ..FREE };
        assert!(probability_gradient(own, terms, &mut u).projected);
        near(&u, &[-3.973_17, 0.241_463]);
        let along = -0.5 / 0.9 * u[0] - 0.5 / 0.1 * u[1];
        assert!((along - 1.0).abs() < 1e-3, "at the limit: {along}");
        let mut logits = [0.0; 2];
        by_logits(&[0.9, 0.1], &u, 1.0, &mut logits);
        near(&logits, &[0.379_317, -0.379_317]);
    }

    #[test]
    fn forbidden_actions_have_no_part() {
        let own = PolicyRow {
            action: 0,
            now: &[1.0, 0.0],
            then: &[1.0, 0.0],
            average: &[1.0, 0.0],
            q: &[1.0, 9.0],
            v: 1.0,
            advantage: 2.0,
        };
        let (mut u, mut logits) = ([7.0; 2], [7.0; 2]);
        probability_gradient(own, AcerTerms { entropy_weight: 0.5, ..FREE }, &mut u);
        assert!(u[1] == 0.0 && u[0].is_finite());
        by_logits(own.now, &u, 1.0, &mut logits);
        near(&logits, &[0.0, 0.0]);
    }

    /// Along the logits, the direction is the gradient of Σ w f-terms: by differences of what it stands for.
    #[test]
    fn logits_follow_the_chain_rule() {
        let (logits, u) = ([0.3f32, -0.4, 0.9], [0.7f32, -1.1, 0.2]);
        let softmax = |x: &[f32]| {
            let sum: f32 = x.iter().map(|x| x.exp()).sum();
            x.iter().map(|x| x.exp() / sum).collect::<Vec<f32>>()
        };
        let mut out = [0.0; 3];
        by_logits(&softmax(&logits), &u, 1.0, &mut out);
        for j in 0..3 {
            let at = |by: f32| {
                let mut moved = logits;
                moved[j] += by;
                softmax(&moved).iter().zip(u).map(|(f, u)| f * u).sum::<f32>()
            };
            assert!(((at(1e-2) - at(-1e-2)) / 2e-2 + out[j]).abs() < 1e-3);
        }
    }
}
