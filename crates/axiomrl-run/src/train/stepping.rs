//! Stepping the environments of a round.

use super::{TrainError, Trainer, Unit};
use axiomrl_algos::Clock;
use axiomrl_envs::Stepping;
use std::ops::Range;

impl Trainer {
    /// Steps the environments of the round that have not stepped, as far as nothing is due before. Those that rest let their
    /// turn pass with that of the ones before them.
    pub(super) fn step(&mut self, clock: Clock) -> Result<Unit, TrainError> {
        let (mut first, n) = (self.record.round, self.env.num_envs());
        let left = usize::try_from(self.next_due() - clock.at).unwrap_or(n);
        let mut last = if self.whole_rounds { n } else { n.min(first.saturating_add(left)) };
        while last < n && self.rests(last) {
            last += 1;
        }
        while first < last {
            let rests = self.rests(first);
            let end = (first..last).find(|&env| self.rests(env) != rests).unwrap_or(last);
            match rests {
                true => self.record.stepped(0, (end - first) as u64),
                false => self.step_part(first..end)?,
            }
            self.record.round = end % n;
            first = end;
        }
        if !self.observers.is_empty() {
            self.tell_round()?;
        }
        Ok(Unit::Round)
    }

    fn step_part(&mut self, envs: Range<usize>) -> Result<(), TrainError> {
        if let Err(error) = self.env.step(envs.clone(), &self.executed) {
            return Err(self.environment_failed(error));
        }
        self.check_rewards(envs.clone())?;
        let observed = self.agent.observe(envs.clone(), &self.actions, self.env.state());
        observed.map_err(|error| self.failed(error))?;
        let stepped = self.env.state().stepped[envs.clone()].iter().filter(|&&stepped| stepped).count();
        self.record.stepped(stepped as u64, (envs.len() - stepped) as u64);
        self.record_episodes()
    }

    /// A batch that steps as a whole lets nobody rest.
    fn rests(&self, env: usize) -> bool {
        self.env.stepping() == Stepping::Each && self.agent.rests(env)
    }

    /// Where the agent chooses its episodes, they begin before it acts.
    pub(super) fn begin_chosen_episodes(&mut self) -> Result<(), TrainError> {
        for (env, seeding) in self.agent.begins() {
            if let Err(error) = self.env.begin(env, &seeding) {
                return Err(self.environment_failed(error));
            }
        }
        Ok(())
    }

    fn check_rewards(&self, envs: Range<usize>) -> Result<(), TrainError> {
        let rewards = &self.env.state().reward;
        match envs.into_iter().find(|&env| !rewards[env].is_finite()) {
            None => Ok(()),
            Some(env) => {
                let (reward, step, kept) = (rewards[env], self.record.env_steps + 1, self.kept());
                Err(TrainError::BadReward { env, reward, step, kept })
            }
        }
    }
}
