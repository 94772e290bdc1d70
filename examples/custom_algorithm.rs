//! An algorithm of one's own, known by name: it gets run files with checked settings, `explain`, checkpoints, `resume`,
//! evaluation and every command. The only dependency is `axiomrl`.
//!
//! ```sh
//! cargo run --release --example custom_algorithm -- train examples/linear_q.yaml
//! cargo run --release --example custom_algorithm -- explain linear_q
//! ```

use axiomrl::prelude::*;
use std::process::ExitCode;

/// The page that `explain` prints.
const PAGE: &str = "# linear_q: Q-learning with a linear function

**What it does.** Learns Q(s, a) = w_a . (s, 1) for every action from a store of past transitions.

**The update.** For each transition of a batch, with the reward sum R and the discount D of its window:

    y   = R + D * max_b Q(s', b)
    w_a = w_a + learning_rate * (y - Q(s, a)) * (s, 1) / batch_size
";

/// Settings of linear Q-learning.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(crate = "axiomrl::serde", deny_unknown_fields, default)]
#[schemars(crate = "axiomrl::schemars")]
struct LinearQConfig {
    /// Step size.
    learning_rate: f32,
    /// Discount per step.
    gamma: f32,
    /// Share of random actions.
    epsilon: f32,
    /// Transitions kept.
    buffer_capacity: usize,
    /// Transitions per update.
    batch_size: usize,
}

impl Default for LinearQConfig {
    fn default() -> Self {
        Self { learning_rate: 0.1, gamma: 0.9, epsilon: 0.1, buffer_capacity: 10_000, batch_size: 32 }
    }
}

axiomrl::plain_settings!(LinearQConfig);

struct LinearQ;

impl Algorithm for LinearQ {
    type Config = LinearQConfig;

    /// Ranges and contradictions; a run file is refused with the place of the key that is named first.
    fn check(config: &LinearQConfig) -> Result<(), Problem> {
        if !(0.0..=1.0).contains(&config.gamma) {
            return Err(Problem::new(&["gamma"], format!("`gamma` is {}; it lies between 0 and 1", config.gamma)));
        }
        if config.batch_size == 0 || config.buffer_capacity == 0 {
            return Err(Problem::new(&["batch_size", "buffer_capacity"], "a batch and a store hold at least one"));
        }
        Ok(())
    }

    fn build(config: LinearQConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let (inputs, actions) = (setup.spaces.obs().widths.floats, setup.spaces.action.mask_width());
        let replay = ReplaySettings {
            capacity: config.buffer_capacity,
            batch_size: config.batch_size,
            learning_starts: 100,
            gamma: config.gamma,
            ..ReplaySettings::default()
        };
        let learner = LinearQLearner { weights: vec![0.0; actions * (inputs + 1)], inputs, config };
        Ok(Learner::OffPolicy(Box::new(learner), replay))
    }
}

/// A row of weights for each action, the last of them constant.
struct LinearQLearner {
    config: LinearQConfig,
    inputs: usize,
    weights: Vec<f32>,
}

impl LinearQLearner {
    fn q_values(&self, state: &[f32]) -> Vec<f32> {
        let value = |w: &[f32]| w[..self.inputs].iter().zip(state).map(|(w, x)| w * x).sum::<f32>() + w[self.inputs];
        self.weights.chunks_exact(self.inputs + 1).map(value).collect()
    }
}

fn argmax(values: &[f32]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}

impl Actor for LinearQLearner {
    fn act(&mut self, input: ActInput<'_>, _context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        for (row, action) in actions.iter_mut().enumerate() {
            *action = argmax(&self.q_values(input.obs.row(row).floats)) as f32;
        }
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.floats("weights", &mut self.weights)
    }
}

impl ReplayLearner for LinearQLearner {
    fn explore(&mut self, input: ActInput<'_>, _clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { memory, rng, .. } = context;
        self.act(input, ActContext::new(memory, Mode::Best, rng), actions)?;
        let choices = self.weights.len() / (self.inputs + 1);
        for action in actions {
            if random::uniform(rng) < f64::from(self.config.epsilon) {
                *action = random::below(rng, choices) as f32;
            }
        }
        Ok(())
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let step = self.config.learning_rate / batch.rows as f32;
        let mut change = vec![0.0; self.weights.len()];
        for row in 0..batch.rows {
            let (state, next) = (batch.obs().row(row).floats, batch.next_obs().row(row).floats);
            let best_next = self.q_values(next).into_iter().fold(f32::MIN, f32::max);
            let target = batch.reward[row] + batch.discount[row] * best_next;
            let action = batch.action[row] as usize;
            let error = target - self.q_values(state)[action];
            let own = &mut change[action * (self.inputs + 1)..(action + 1) * (self.inputs + 1)];
            own.iter_mut().zip(state.iter().chain(&[1.0])).for_each(|(w, x)| *w += step * error * x);
            context.errors.push(error.abs());
        }
        self.weights.iter_mut().zip(&change).for_each(|(w, change)| *w += change);
        context.metrics.add("td_error_mean", context.errors.iter().sum::<f32>() / batch.rows as f32);
        Ok(())
    }

    /// All that is learned is in the policy.
    fn visit_state(&mut self, _io: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn main() -> ExitCode {
    let about = About {
        name: "linear_q",
        summary: "Q-learning with a linear function",
        page: PAGE,
        actions: &[ActionKind::Discrete],
    };
    let mut catalogue = Catalogue::builtin();
    if let Err(error) = catalogue.algorithm::<LinearQ>(about, LinearQConfig::default) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    axiomrl::cli::main_with(catalogue)
}
