//! What imagined steps are worth, and how much each counts.
//!
//! Columns are time-major: of `lanes` trajectories with states 0 to H, entry `(t, lane)` is at `t * lanes + lane`. A reward belongs
//! to the state it is received in, and so does the discount, the chance that there is a future times γ. Two conventions exist,
//! and must never be mixed: in the one a value leaves the reward of its own state out, in the other it contains it.

/// Whether the value of a state contains that state's own reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// `R_t = r_{t+1} + d_{t+1}[(1−λ)v_{t+1} + λR_{t+1}]`, `R_H = v_H`
    Next,
    /// `G_t = r_t + d_t[(1−λ)v_{t+1} + λG_{t+1}]`, `G_H = v_H`
    Own,
}

impl Convention {
    /// The state whose reward and discount stand in the return of state `t`.
    fn paid(self, t: usize) -> usize {
        match self {
            Self::Next => t + 1,
            Self::Own => t,
        }
    }
}

/// What heads said of imagined states.
#[derive(Clone, Copy, Debug)]
pub struct Imagined<'a> {
    pub lanes: usize,
    /// `(H + 1) * lanes`, as the others
    pub reward: &'a [f32],
    pub discount: &'a [f32],
    pub value: &'a [f32],
}

/// Derivatives of a loss by what heads said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByImagined {
    pub reward: Vec<f32>,
    pub discount: Vec<f32>,
    pub value: Vec<f32>,
}

impl Imagined<'_> {
    fn horizon(&self) -> usize {
        let states = self.reward.len() / self.lanes;
        assert!(states > 1 && self.reward.len() == states * self.lanes, "whole trajectories of two states or more");
        assert_eq!((self.discount.len(), self.value.len()), (self.reward.len(), self.reward.len()), "equal columns");
        states - 1
    }

    /// λ-returns of states 0 to H − 1.
    pub fn returns(&self, convention: Convention, lambda: f32) -> Vec<f32> {
        let (horizon, lanes) = (self.horizon(), self.lanes);
        let mut returns = vec![0.0; horizon * lanes];
        for at in (0..horizon * lanes).rev() {
            let next = at + lanes;
            let later = returns.get(next).copied().unwrap_or(self.value[next]);
            let paid = convention.paid(at / lanes) * lanes + at % lanes;
            returns[at] =
                self.reward[paid] + self.discount[paid] * ((1.0 - lambda) * self.value[next] + lambda * later);
        }
        returns
    }

    /// The derivatives of `Σ slope · return` by rewards, discounts and values, where `slope` has a number for each return.
    pub fn returns_adjoint(&self, convention: Convention, lambda: f32, returns: &[f32], slope: &[f32]) -> ByImagined {
        let (horizon, lanes) = (self.horizon(), self.lanes);
        let zeros = || vec![0.0; self.reward.len()];
        let mut by = ByImagined { reward: zeros(), discount: zeros(), value: zeros() };
        // What all returns together gain by that of each state.
        let mut gain = slope.to_vec();
        for at in 0..horizon * lanes {
            let (next, gained) = (at + lanes, gain[at]);
            let paid = convention.paid(at / lanes) * lanes + at % lanes;
            let discounted = gained * self.discount[paid];
            by.reward[paid] += gained;
            match gain.get_mut(next) {
                Some(later) => {
                    *later += lambda * discounted;
                    by.value[next] += (1.0 - lambda) * discounted;
                    by.discount[paid] += gained * ((1.0 - lambda) * self.value[next] + lambda * returns[next]);
                }
                None => {
                    by.value[next] += discounted;
                    by.discount[paid] += gained * self.value[next];
                }
            }
        }
        by
    }

    /// How much states 0 to H − 1 count: as much as it is likely that there is still somebody to act in them. `first` is what a
    /// start that goes on has to be divided by to count as 1 (γ, or 1 to leave it as it is).
    pub fn weights(&self, convention: Convention, first: f32) -> Vec<f32> {
        let (horizon, lanes) = (self.horizon(), self.lanes);
        let mut weights = vec![1.0; horizon * lanes];
        for at in 0..horizon * lanes {
            let before = if at >= lanes { weights[at - lanes] } else { 1.0 };
            weights[at] = match (convention, at >= lanes) {
                (Convention::Next, true) => before * self.discount[at],
                (Convention::Next, false) => self.discount[at] / first,
                (Convention::Own, true) => before * self.discount[at - lanes],
                (Convention::Own, false) => 1.0,
            };
        }
        weights
    }
}

/// Rows that were lived, not imagined: `(t, lane)` as above, rewards for the arrival in a row.
#[derive(Clone, Copy, Debug)]
pub struct Replayed<'a> {
    pub lanes: usize,
    pub reward: &'a [f32],
    pub last: &'a [bool],
    pub terminal: &'a [bool],
}

impl Replayed<'_> {
    /// λ-returns of all rows but the last, bootstrapped by what is thought of each row:
    /// `R_t = r_{t+1} + γ(1−terminal_{t+1})[(1−λ_{t+1})b_{t+1} + λ_{t+1}R_{t+1}]` with `λ_t = λ(1−last_t)`, and `R = b` in the
    /// last row. What is said of a row in which an episode ended means nothing.
    pub fn returns(&self, bootstrap: &[f32], gamma: f32, lambda: f32) -> Vec<f32> {
        assert_eq!(bootstrap.len(), self.reward.len(), "a bootstrap for every row");
        let lanes = self.lanes;
        let mut returns = bootstrap.to_vec();
        for at in (0..bootstrap.len().saturating_sub(lanes)).rev() {
            let next = at + lanes;
            let discount = if self.terminal[next] { 0.0 } else { gamma };
            let lambda = if self.last[next] { 0.0 } else { lambda };
            returns[at] = self.reward[next] + discount * ((1.0 - lambda) * bootstrap[next] + lambda * returns[next]);
        }
        returns.truncate(bootstrap.len().saturating_sub(lanes));
        returns
    }
}

/// The spread of returns that advantages are divided by: a slow average of two percentiles, and never below 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReturnScale {
    low: f32,
    high: f32,
}

impl ReturnScale {
    const KEPT: f32 = 0.99;

    /// Takes in a batch of returns and gives the scale.
    pub fn update(&mut self, returns: &[f32]) -> f32 {
        let mut sorted = returns.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        for (kept, percentile) in [(&mut self.low, 0.05), (&mut self.high, 0.95)] {
            *kept = Self::KEPT * *kept + (1.0 - Self::KEPT) * quantile(&sorted, percentile);
        }
        (self.high - self.low).max(1.0)
    }
}

/// By linear interpolation at `q(n − 1)` of ascending numbers.
fn quantile(sorted: &[f32], q: f64) -> f32 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = q * last as f64;
    let (below, share) = (at.floor() as usize, at.fract() as f32);
    sorted[below] + share * (sorted[(below + 1).min(last)] - sorted[below])
}

#[cfg(test)]
mod tests;
