//! What the rollouts of a phase leave behind, and the loss of the auxiliary phase on it.

use crate::parts::statistics::ObsStats;
use crate::regimes::{read_floats, write_floats};
use crate::state::Streamed;
use axiomrl_core::Rollout;
use axiomrl_envs::{ObsBuf, ObsWidths};
use axiomrl_nn::Distribution;
use std::io::{self, Read, Write};

/// Steps of the rollouts since the last auxiliary phase: raw observations, returns as they were computed then, allowed actions.
/// Once the phase has begun, the heads of the policy as it was before, too.
pub struct Phase {
    widths: ObsWidths,
    mask_width: usize,
    head_width: usize,
    /// Most steps that a phase can have.
    capacity: usize,
    pub rollouts: usize,
    obs: ObsBuf,
    pub returns: Vec<f32>,
    masks: Vec<bool>,
    /// Heads of the first rows; of all, once the phase goes on to learn.
    pub old_heads: Vec<f32>,
    pub old_log_std: Vec<f32>,
}

impl Phase {
    pub fn new(widths: ObsWidths, mask_width: usize, head_width: usize, capacity: usize) -> Self {
        Self {
            widths,
            mask_width,
            head_width,
            capacity,
            rollouts: 0,
            obs: ObsBuf::zeros(widths, 0),
            returns: Vec::new(),
            masks: Vec::new(),
            old_heads: Vec::new(),
            old_log_std: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.returns.len()
    }

    /// Keeps the steps of a rollout that were really played.
    pub fn keep(&mut self, rollout: &Rollout) {
        let seen = rollout.raw.as_ref().map_or(&rollout.obs, |raw| &raw.obs);
        for row in (0..rollout.filled * rollout.lanes).filter(|&row| rollout.valid[row]) {
            let obs = seen.row(row);
            self.obs.floats.extend_from_slice(obs.floats);
            self.obs.bytes.extend_from_slice(obs.bytes);
            self.returns.push(rollout.returns[row]);
            self.masks.extend_from_slice(&rollout.masks[row * self.mask_width..(row + 1) * self.mask_width]);
        }
        let rows = self.len();
        self.obs.reshape(self.widths, rows);
        self.rollouts += 1;
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.widths, self.mask_width, self.head_width, self.capacity);
    }

    /// Chosen rows, standardised as the policy takes them.
    pub fn gather(&self, chosen: &[u32], statistics: Option<&ObsStats>, into: &mut AuxBatch) {
        into.obs.reshape(self.widths, chosen.len());
        into.returns.clear();
        into.masks.clear();
        into.old_heads.clear();
        for (to, &row) in chosen.iter().enumerate() {
            let row = row as usize;
            into.obs.row_mut(to).copy_from(self.obs.row(row));
            into.returns.push(self.returns[row]);
            into.masks.extend_from_slice(&self.masks[row * self.mask_width..(row + 1) * self.mask_width]);
            if let Some(old) = self.old_heads.get(row * self.head_width..(row + 1) * self.head_width) {
                into.old_heads.extend_from_slice(old);
            }
        }
        if let Some(statistics) = statistics {
            statistics.scale(&mut into.obs.floats, self.widths.floats);
        }
    }
}

impl Streamed for Phase {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        for count in [self.rollouts, self.len(), self.old_heads.len(), self.old_log_std.len()] {
            to.write_all(&(count as u64).to_le_bytes())?;
        }
        write_floats(to, &self.obs.floats)?;
        to.write_all(&self.obs.bytes)?;
        write_floats(to, &self.returns)?;
        to.write_all(&self.masks.iter().map(|&allowed| u8::from(allowed)).collect::<Vec<u8>>())?;
        write_floats(to, &self.old_heads)?;
        write_floats(to, &self.old_log_std)
    }

    fn read(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut count = |limit: usize| -> io::Result<usize> {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes)?;
            let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the saved phase is damaged: its counts");
            usize::try_from(u64::from_le_bytes(bytes)).ok().filter(|&n| n <= limit).ok_or_else(damaged)
        };
        let (rollouts, rows) = (count(self.capacity)?, count(self.capacity)?);
        let (heads, deviations) = (count(rows * self.head_width)?, count(self.head_width)?);
        let mut fresh = Self::new(self.widths, self.mask_width, self.head_width, self.capacity);
        fresh.rollouts = rollouts;
        fresh.obs = ObsBuf::zeros(self.widths, rows);
        read_floats(from, &mut fresh.obs.floats)?;
        from.read_exact(&mut fresh.obs.bytes)?;
        fresh.returns = vec![0.0; rows];
        read_floats(from, &mut fresh.returns)?;
        let mut masks = vec![0; rows * self.mask_width];
        from.read_exact(&mut masks)?;
        fresh.masks = masks.into_iter().map(|byte| byte != 0).collect();
        (fresh.old_heads, fresh.old_log_std) = (vec![0.0; heads], vec![0.0; deviations]);
        read_floats(from, &mut fresh.old_heads)?;
        read_floats(from, &mut fresh.old_log_std)?;
        *self = fresh;
        Ok(())
    }
}

/// A minibatch of an auxiliary phase.
#[derive(Default)]
pub struct AuxBatch {
    pub obs: ObsBuf,
    pub returns: Vec<f32>,
    pub masks: Vec<bool>,
    /// Empty before the phase has them.
    pub old_heads: Vec<f32>,
}

/// What the loss of the auxiliary phase came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuxReport {
    /// mean 1/2 (V_aux - G)^2
    pub value_loss: f32,
    /// mean KL(old ‖ new)
    pub kl: f32,
}

/// Gradients by heads, by auxiliary values and by log standard deviations.
pub struct AuxGradient {
    pub head: Vec<f32>,
    pub value: Vec<f32>,
    pub log_std: Vec<f32>,
}

impl AuxBatch {
    /// mean 1/2 (V_aux - G)^2 + beta * mean KL(old ‖ new), and its gradient.
    pub fn loss(
        &self,
        family: &Distribution,
        head: &[f32],
        values: &[f32],
        (old_log_std, log_std): (&[f32], &[f32]),
        beta: f32,
    ) -> (AuxReport, AuxGradient) {
        let rows = self.returns.len();
        let (share, width, masks) = (1.0 / rows as f32, family.head_width(), self.masks.len() / rows);
        let mut report = AuxReport::default();
        let mut gradient =
            AuxGradient { head: vec![0.0; head.len()], value: vec![0.0; rows], log_std: vec![0.0; log_std.len()] };
        for row in 0..rows {
            let (at, mask) = (row * width..(row + 1) * width, &self.masks[row * masks..(row + 1) * masks]);
            let (old, new) = (&self.old_heads[at.clone()], &head[at.clone()]);
            report.kl += share * family.kl(old, old_log_std, new, log_std, mask);
            let (by_head, by_log_std) = (&mut gradient.head[at], &mut gradient.log_std);
            family.d_kl(old, old_log_std, new, log_std, mask, beta * share, by_head, by_log_std);
            let error = values[row] - self.returns[row];
            report.value_loss += share * 0.5 * error * error;
            gradient.value[row] = share * error;
        }
        (report, gradient)
    }
}

/// mean 1/2 (V - G)^2, and its gradient.
pub fn half_squared_error(values: &[f32], returns: &[f32]) -> (f32, Vec<f32>) {
    let share = 1.0 / returns.len() as f32;
    let errors = || values.iter().zip(returns).map(|(value, target)| value - target);
    (errors().map(|e| share * 0.5 * e * e).sum(), errors().map(|e| share * e).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_row() {
        // V_aux 1, V 2, G 3; the old policy was (1/2, 1/2), the new one is (0.6, 0.4).
        let batch = AuxBatch { returns: vec![3.0], old_heads: vec![0.0, 0.0], ..AuxBatch::default() };
        let (head, choice) = ([0.6f32.ln(), 0.4f32.ln()], Distribution::Categorical { n: 2 });
        let (report, gradient) = batch.loss(&choice, &head, &[1.0], (&[], &[]), 1.0);
        assert!((report.kl - 0.020_411).abs() < 1e-5, "{report:?}: 0.0201355 would be the other way round");
        let (value_loss, by_value) = half_squared_error(&[2.0], &[3.0]);
        assert!((report.value_loss + report.kl + value_loss - 2.520_411).abs() < 1e-5);
        assert_eq!((gradient.value, by_value), (vec![-2.0], vec![-1.0]));
        // The gradient of the divergence by the logits is new - old.
        assert!((gradient.head[0] - 0.1).abs() < 1e-6 && (gradient.head[1] + 0.1).abs() < 1e-6);
        let (_, none) = batch.loss(&choice, &head, &[1.0], (&[], &[]), 0.0);
        assert_eq!(none.head, [0.0, 0.0]);
    }

    #[test]
    fn what_is_kept_comes_back_from_a_file() {
        let mut phase = Phase::new(ObsWidths { floats: 2, bytes: 1 }, 2, 2, 4);
        phase.obs = ObsBuf::zeros(phase.widths, 2);
        phase.obs.floats = vec![1.0, 2.0, 3.0, 4.0];
        phase.obs.bytes = vec![7, 8];
        (phase.rollouts, phase.returns) = (1, vec![0.5, -0.5]);
        (phase.masks, phase.old_heads) = (vec![true, false, true, true], vec![0.1, 0.2]);
        let mut bytes = Vec::new();
        phase.write(&mut bytes).unwrap();
        let mut back = Phase::new(phase.widths, 2, 2, 4);
        back.read(&mut &bytes[..]).unwrap();
        let mut again = Vec::new();
        back.write(&mut again).unwrap();
        assert_eq!(bytes, again);
        let mut batch = AuxBatch::default();
        back.gather(&[1, 0], None, &mut batch);
        assert_eq!((&batch.obs.floats[..], &batch.obs.bytes[..]), (&[3.0, 4.0, 1.0, 2.0][..], &[8, 7][..]));
        assert_eq!((batch.returns, batch.masks), (vec![-0.5, 0.5], vec![true, true, true, false]));
        assert!(Phase::new(phase.widths, 2, 2, 4).read(&mut &bytes[..20]).is_err());
        assert!(Phase::new(phase.widths, 2, 2, 1).read(&mut &bytes[..]).is_err(), "more than a phase can have");
    }
}
