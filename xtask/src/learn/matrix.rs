//! What must be learned, in how many steps, and what must not be.

/// One row of the acceptance matrix: a packaged config and the return its last evaluation must reach.
pub struct Row {
    pub config: &'static str,
    pub env_id: &'static str,
    /// Least mean return of the final deterministic evaluation.
    pub mark: f64,
    /// Environment steps within which it must be reached.
    pub max_steps: u64,
    /// A broken variant, which must miss the mark.
    pub control: Option<Control>,
    /// Whether a missed mark is a failure, or only reported.
    pub required: bool,
    /// Part of `--fast`.
    pub fast: bool,
}

/// What is broken on purpose.
#[derive(Clone, Copy)]
pub struct Control {
    pub name: &'static str,
    /// The setting that breaks it, as for `axiomrl train --set`.
    pub set: &'static str,
}

/// Nothing can be learned without moving. The other control, bootstrapping through termination, cannot be configured:
/// it is a test of `axiomrl-run`.
const NO_LEARNING: Control = Control { name: "learning_rate_0", set: "algo_kwargs.learning_rate=0" };

/// All rows, in the order of the report.
pub const MATRIX: &[Row] = &[
    row("dqn/cartpole", "CartPole-v1", 475.0, 50_000).fast(),
    row("dqn/acrobot", "Acrobot-v1", -100.0, 100_000),
    // Exploration by chance alone: whether the flag is found in time is partly luck.
    row("dqn/mountaincar", "MountainCar-v0", -120.0, 120_000).reported(),
    row("ppo/cartpole", "CartPole-v1", 475.0, 100_000).fast(),
    row("ppo/acrobot", "Acrobot-v1", -100.0, 500_000),
    row("ppo/pendulum", "Pendulum-v1", -250.0, 200_000),
    row("sac/pendulum", "Pendulum-v1", -200.0, 20_000),
    row("dqn/cartpole", "CartPole-v1", 475.0, 50_000).control(NO_LEARNING),
    row("ppo/cartpole", "CartPole-v1", 475.0, 100_000).control(NO_LEARNING).fast(),
    row("sac/pendulum", "Pendulum-v1", -200.0, 20_000).control(NO_LEARNING),
];

const fn row(config: &'static str, env_id: &'static str, mark: f64, max_steps: u64) -> Row {
    Row { config, env_id, mark, max_steps, control: None, required: true, fast: false }
}

impl Row {
    const fn fast(mut self) -> Self {
        self.fast = true;
        self
    }

    const fn reported(mut self) -> Self {
        self.required = false;
        self
    }

    const fn control(mut self, control: Control) -> Self {
        self.control = Some(control);
        self
    }

    /// Whether `only` names this row's algorithm or its config.
    pub fn matches(&self, only: &str) -> bool {
        self.config == only || self.config.split('/').next() == Some(only)
    }

    /// Whether a run that met its mark, or did not, ended the way this row wants it.
    pub fn as_it_should(&self, passed: bool) -> bool {
        match self.control {
            Some(_) => !passed,
            None => passed || !self.required,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_control() {
        for row in MATRIX.iter().filter(|row| row.control.is_none()) {
            let algo = row.config.split('/').next().unwrap_or_default();
            assert!(MATRIX.iter().any(|other| other.control.is_some() && other.matches(algo)), "{algo}");
        }
    }

    #[test]
    fn a_control_must_miss_its_mark_and_a_run_must_meet_it() {
        let run = row("dqn/cartpole", "CartPole-v1", 475.0, 1);
        assert!(run.as_it_should(true) && !run.as_it_should(false));
        let control = row("dqn/cartpole", "CartPole-v1", 475.0, 1).control(NO_LEARNING);
        assert!(!control.as_it_should(true) && control.as_it_should(false));
        let reported = row("dqn/mountaincar", "MountainCar-v0", -120.0, 1).reported();
        assert!(reported.as_it_should(true) && reported.as_it_should(false));
    }

    #[test]
    fn a_row_is_found_by_its_algorithm_or_its_config() {
        let row = row("dqn/cartpole", "CartPole-v1", 475.0, 1);
        assert!(row.matches("dqn") && row.matches("dqn/cartpole"));
        assert!(!row.matches("dq") && !row.matches("cartpole") && !row.matches("ppo"));
    }
}
