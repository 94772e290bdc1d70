//! What a sequence of steps was worth. Pure functions over [`Segment`]s: consecutive steps of several environments.
//!
//! Everywhere `γ_t = γ(1−terminated_t)`, and nothing known of a step flows back over the end of an episode. Where a
//! trace is cut, at a truncation or at the end of the segment, `next_value` stands for the rest.

use crate::gae::Segment;

/// `G_t = Σ_{i<k} γ^i r_{t+i} + γ^k(1−terminated)·V`, where the window is `n` steps long, or shorter when the episode
/// or the segment ends before.
pub fn n_step(steps: &Segment<'_>, n: usize, gamma: f32, out: &mut [f32]) {
    steps.check(&[out.len()]);
    for (t, out) in out.iter_mut().enumerate() {
        let (mut i, mut scale, mut sum) = (t, 1.0, 0.0);
        for k in 0..n {
            sum += scale * steps.reward[i];
            if k + 1 == n || !steps.continues(i) {
                break;
            }
            scale *= gamma;
            i += steps.lanes;
        }
        *out = sum + scale * steps.bootstrap(i, gamma);
    }
}

/// `G_t = r_t + γ_t[(1−λ)V_{t+1} + λG_{t+1}]`, with `G_{t+1} = V_{t+1}` where nothing follows.
pub fn lambda_return(steps: &Segment<'_>, gamma: f32, lambda: f32, out: &mut [f32]) {
    steps.check(&[out.len()]);
    for t in (0..out.len()).rev() {
        let next = steps.bootstrap(t, gamma);
        out[t] = steps.reward[t]
            + match steps.continues(t) {
                true => (1.0 - lambda) * next + lambda * gamma * out[t + steps.lanes],
                false => next,
            };
    }
}

/// How far V-trace trusts steps of another policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VtraceLimits {
    pub lambda: f32,
    /// ρ̄: limit of the ratio in the value targets
    pub rho: f32,
    /// c̄: limit of the ratio in the trace
    pub c: f32,
    /// limit of the ratio in the policy gradient
    pub rho_pg: f32,
}

impl Default for VtraceLimits {
    fn default() -> Self {
        Self { lambda: 1.0, rho: 1.0, c: 1.0, rho_pg: 1.0 }
    }
}

/// V-trace: value targets `v` and policy-gradient advantages. `log_ratio` is `log π(a|s) − log μ(a|s)`.
///
/// `δ_t = ρ_t(r_t + γ_t V_{t+1} − V_t)`, `v_t − V_t = δ_t + γ_t c_t (v_{t+1} − V_{t+1})`,
/// `advantage_t = ρ^pg_t (r_t + γ_t v_{t+1} − V_t)`, with `v_{t+1} = V_{t+1}` where nothing follows.
pub fn vtrace(
    steps: &Segment<'_>,
    value: &[f32],
    log_ratio: &[f32],
    gamma: f32,
    limits: VtraceLimits,
    v: &mut [f32],
    advantage: &mut [f32],
) {
    steps.check(&[value.len(), log_ratio.len(), v.len(), advantage.len()]);
    for t in (0..v.len()).rev() {
        let ratio = log_ratio[t].exp();
        let (rho, c) = (ratio.min(limits.rho), limits.lambda * ratio.min(limits.c));
        let next_value = steps.bootstrap(t, gamma);
        let (trace, next_v) = match steps.continues(t) {
            true => {
                let next = t + steps.lanes;
                (gamma * c * (v[next] - value[next]), gamma * v[next])
            }
            false => (0.0, next_value),
        };
        v[t] = value[t] + rho * (steps.reward[t] + next_value - value[t]) + trace;
        advantage[t] = ratio.min(limits.rho_pg) * (steps.reward[t] + next_v - value[t]);
    }
}

/// Retrace(λ): targets for Q. `q` is `Q(s_t, a_t)`; the segment's `next_value` is `E_π Q(s_{t+1}, ·)`; `log_ratio` is
/// `log π(a|s) − log μ(a|s)`.
///
/// `G_t = Q_t + δ_t + γ_t c_{t+1}(G_{t+1} − Q_{t+1})`, `δ_t = r_t + γ_t E_π Q(s_{t+1}) − Q_t`, `c = λ·min(1, π/μ)`.
pub fn retrace(steps: &Segment<'_>, q: &[f32], log_ratio: &[f32], gamma: f32, lambda: f32, out: &mut [f32]) {
    steps.check(&[q.len(), log_ratio.len(), out.len()]);
    for t in (0..out.len()).rev() {
        let trace = match steps.continues(t) {
            true => {
                let next = t + steps.lanes;
                gamma * lambda * log_ratio[next].exp().min(1.0) * (out[next] - q[next])
            }
            false => 0.0,
        };
        out[t] = steps.reward[t] + steps.bootstrap(t, gamma) + trace;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gae::gae;
    use proptest::prelude::*;

    const NO: [bool; 3] = [false; 3];
    const SECOND: [bool; 3] = [false, true, false];

    /// Rewards 1, 2, 4; values after them 20, 40, 80; γ = ½ throughout.
    fn steps<'a>(terminated: &'a [bool], truncated: &'a [bool]) -> Segment<'a> {
        Segment { lanes: 1, reward: &[1.0, 2.0, 4.0], terminated, truncated, next_value: &[20.0, 40.0, 80.0] }
    }

    fn close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-4, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn n_step_by_hand() {
        let mut out = [0.0; 3];
        n_step(&steps(&NO, &NO), 2, 0.5, &mut out);
        close(&out, &[1.0 + 1.0 + 10.0, 2.0 + 2.0 + 20.0, 4.0 + 40.0]);
        n_step(&steps(&SECOND, &NO), 3, 0.5, &mut out);
        close(&out, &[1.0 + 1.0, 2.0, 44.0]);
        n_step(&steps(&NO, &SECOND), 3, 0.5, &mut out);
        close(&out, &[1.0 + 1.0 + 10.0, 2.0 + 20.0, 44.0]);
    }

    #[test]
    fn lambda_return_by_hand() {
        let mut out = [0.0; 3];
        lambda_return(&steps(&NO, &NO), 0.5, 0.5, &mut out);
        // G_2 = 4+40, G_1 = 2 + ½(20+22), G_0 = 1 + ½(10 + 11.5).
        close(&out, &[11.75, 23.0, 44.0]);
        lambda_return(&steps(&SECOND, &NO), 0.5, 0.5, &mut out);
        close(&out, &[1.0 + 0.5 * (10.0 + 1.0), 2.0, 44.0]);
        lambda_return(&steps(&NO, &SECOND), 0.5, 0.5, &mut out);
        close(&out, &[1.0 + 0.5 * (10.0 + 11.0), 22.0, 44.0]);
    }

    #[test]
    fn vtrace_by_hand() {
        let value = [10.0, 20.0, 40.0];
        // Ratios 2, ½, 1: ρ = c = 1, ½, 1.
        let log_ratio = [2.0f32.ln(), 0.5f32.ln(), 0.0];
        let (mut v, mut advantage) = ([0.0; 3], [0.0; 3]);
        vtrace(&steps(&NO, &NO), &value, &log_ratio, 0.5, VtraceLimits::default(), &mut v, &mut advantage);
        // v_2 = 40+4; v_1 = 20 + ½·2 + ½·½·4 = 22; v_0 = 10 + 1 + ½·2 = 12.
        close(&v, &[12.0, 22.0, 44.0]);
        // 1·(1+11−10), ½(2+22−20), 1·(4+40−40).
        close(&advantage, &[2.0, 2.0, 4.0]);
        vtrace(&steps(&SECOND, &NO), &value, &log_ratio, 0.5, VtraceLimits::default(), &mut v, &mut advantage);
        // v_1 = 20 + ½(2−20) = 11; v_0 = 10 + 1 + ½(11−20).
        close(&v, &[6.5, 11.0, 44.0]);
        close(&advantage, &[1.0 + 5.5 - 10.0, 0.5 * (2.0 - 20.0), 4.0]);
        vtrace(&steps(&NO, &SECOND), &value, &log_ratio, 0.5, VtraceLimits::default(), &mut v, &mut advantage);
        // The trace is cut, the value after the truncation is not: v_1 = 20 + ½(2+20−20).
        close(&v, &[11.5, 21.0, 44.0]);
        close(&advantage, &[1.0 + 10.5 - 10.0, 1.0, 4.0]);
    }

    #[test]
    fn retrace_by_hand() {
        let q = [10.0, 20.0, 30.0];
        let log_ratio = [0.0, 0.5f32.ln(), 2.0f32.ln()];
        let mut out = [0.0; 3];
        retrace(&steps(&NO, &NO), &q, &log_ratio, 0.5, 0.5, &mut out);
        // G_2 = 4+40 = 44; c_2 = ½: G_1 = 2+20 + ¼(44−30) = 25.5; c_1 = ¼: G_0 = 1+10 + ⅛(25.5−20).
        close(&out, &[11.6875, 25.5, 44.0]);
        retrace(&steps(&SECOND, &NO), &q, &log_ratio, 0.5, 0.5, &mut out);
        close(&out, &[11.0 + (2.0 - 20.0) / 8.0, 2.0, 44.0]);
        retrace(&steps(&NO, &SECOND), &q, &log_ratio, 0.5, 0.5, &mut out);
        close(&out, &[11.0 + (22.0 - 20.0) / 8.0, 22.0, 44.0]);
    }

    /// Columns of two lanes: values after a step are the next step's, except at ends.
    #[derive(Debug)]
    struct Columns {
        reward: Vec<f32>,
        value: Vec<f32>,
        next_value: Vec<f32>,
        terminated: Vec<bool>,
        truncated: Vec<bool>,
    }

    fn columns() -> impl Strategy<Value = Columns> {
        let row = (-4i8..4, -8i8..8, 0u8..8, -8i8..8);
        prop::collection::vec((row.clone(), row), 1..12).prop_map(|rows| {
            let flat: Vec<_> = rows.into_iter().flat_map(|(a, b)| [a, b]).collect();
            let value: Vec<f32> = flat.iter().map(|r| f32::from(r.1)).collect();
            let ended = |r: &(i8, i8, u8, i8)| r.2 < 2;
            let next_value = flat.iter().enumerate().map(|(i, r)| match value.get(i + 2) {
                Some(&next) if !ended(r) => next,
                _ => f32::from(r.3),
            });
            Columns {
                reward: flat.iter().map(|r| f32::from(r.0)).collect(),
                next_value: next_value.collect(),
                terminated: flat.iter().map(|r| r.2 == 0).collect(),
                truncated: flat.iter().map(|r| r.2 == 1).collect(),
                value,
            }
        })
    }

    proptest! {
        #[test]
        fn the_family_agrees_where_its_members_meet(c in columns(), gamma in 0.0f32..1.0, lambda in 0.0f32..1.0) {
            let steps = Segment {
                lanes: 2, reward: &c.reward, terminated: &c.terminated, truncated: &c.truncated, next_value: &c.next_value,
            };
            let n = c.reward.len();
            let zero = vec![0.0; n];
            let (mut advantage, mut returns) = (zero.clone(), zero.clone());
            gae(&steps, &c.value, gamma, lambda, &mut advantage, &mut returns);
            let mut g = zero.clone();
            lambda_return(&steps, gamma, lambda, &mut g);
            let limits = VtraceLimits { lambda, ..VtraceLimits::default() };
            let (mut v, mut pg) = (zero.clone(), zero.clone());
            vtrace(&steps, &c.value, &zero, gamma, limits, &mut v, &mut pg);
            let mut q = zero.clone();
            retrace(&steps, &c.value, &zero, gamma, lambda, &mut q);
            let (mut one, mut all, mut whole) = (zero.clone(), zero.clone(), zero.clone());
            n_step(&steps, 1, gamma, &mut one);
            n_step(&steps, n, gamma, &mut all);
            lambda_return(&steps, gamma, 1.0, &mut whole);
            for i in 0..n {
                // On-policy, with V for Q, all of them are the λ-return.
                prop_assert!((returns[i] - g[i]).abs() < 1e-3);
                prop_assert!((v[i] - g[i]).abs() < 1e-3);
                prop_assert!((q[i] - g[i]).abs() < 1e-3);
                prop_assert!((all[i] - whole[i]).abs() < 1e-3);
                prop_assert!((one[i] - c.reward[i] - steps.bootstrap(i, gamma)).abs() < 1e-5);
            }
        }
    }
}
