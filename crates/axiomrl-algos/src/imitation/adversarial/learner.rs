//! The policy, the discriminator that pays it, and the rounds they take turns in.

use super::{Discriminator, ExpertSet, Generator, InputStatistics, Inputs, Rows, Selection, Verdict};
use crate::agent::{LearnError, Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::checks::BuildError;
use crate::parts::statistics::{ObsStats, RewardStats};
use crate::policy::{ActContext, ActInput, Actor, Memory};
use crate::regimes::{ActedRow, Played, RolloutLearner, Unrewarded, hex};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, RawRows, Rollout, Schedule, random};
use axiomrl_envs::{ObsBuf, ObsRef, Rng, Spaces};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Added to the expert's deviations before the policy's observations are divided by them.
const POLICY_FLOOR: f64 = 1e-3;

/// From this accuracy on a discriminator is too sure to teach, and after so many rounds of it the user is told.
const SATURATED: f32 = 0.99;
const PATIENCE: u32 = 10;

/// Turns and sizes of a round.
#[derive(Clone, Debug)]
pub struct AdversarialSettings {
    pub learning_rate: Schedule,
    /// Steps of the discriminator on each rollout.
    pub updates: usize,
    pub batch_size: usize,
    pub statistics: InputStatistics,
    pub selection: Selection,
    /// The discount of returns, by whose deviation rewards are divided; absent leaves them as they are.
    pub scale_by: Option<f32>,
    /// What the mean reward is logged as.
    pub reward_name: &'static str,
}

/// A policy that is paid by a discriminator.
pub struct AdversarialLearner {
    generator: Box<dyn Generator>,
    discriminator: Box<dyn Discriminator>,
    settings: AdversarialSettings,
    spaces: Spaces,
    inputs: Inputs,
    /// None where the policy is made to be loaded.
    expert: Option<ExpertSet>,
    rewards: Option<RewardStats>,
    /// Steps of the discriminator on this rollout, and the sum of their accuracies.
    steps: usize,
    accuracy: f32,
    /// Rounds in a row in which the discriminator was never wrong.
    sure: u32,
}

impl AdversarialLearner {
    /// `discriminator` is made for the inputs it will be shown.
    pub fn new(
        generator: Box<dyn Generator>,
        discriminator: impl FnOnce(&Inputs) -> Box<dyn Discriminator>,
        settings: AdversarialSettings,
        setup: &Setup,
    ) -> Result<Self, BuildError> {
        let mut inputs = Inputs::new(&setup.spaces, settings.statistics);
        let expert = match &setup.prior {
            Some(data) => Some(ExpertSet::new(data, setup, &inputs, settings.selection)?),
            None => None,
        };
        if let Some(expert) = &expert {
            inputs.begin(&expert.x);
        }
        Ok(Self {
            discriminator: discriminator(&inputs),
            rewards: settings.scale_by.map(|gamma| RewardStats::new(setup.num_envs, gamma)),
            generator,
            settings,
            spaces: setup.spaces.clone(),
            inputs,
            expert,
            steps: 0,
            accuracy: 0.0,
            sure: 0,
        })
    }

    /// One step of the discriminator: as many rows of the fresh rollout as of the expert, both drawn with replacement, so that
    /// a handful of the expert's is enough.
    fn discriminate(
        &mut self,
        unrewarded: &Unrewarded<'_>,
        context: &mut UpdateContext<'_>,
    ) -> Result<Verdict, LearnError> {
        let rate = self.settings.learning_rate.at(context.fraction()) as f32;
        let outcomes = self.discriminator.sees_outcomes();
        let Some(expert) = &self.expert else { return Err(LearnError::Other("there is no expert to imitate".into())) };
        let rollout = &*unrewarded.rollout;
        let played: Vec<usize> = (0..rollout.filled * rollout.lanes).filter(|&row| rollout.valid[row]).collect();
        if played.is_empty() {
            return Ok(Verdict::default());
        }
        let draw = |from: usize, rng: &mut Rng| -> Vec<usize> {
            (0..self.settings.batch_size).map(|_| random::below(rng, from)).collect()
        };
        let chosen = draw(expert.count, context.rng);
        let own: Vec<usize> = draw(played.len(), context.rng).into_iter().map(|at| played[at]).collect();

        let mut of_expert = expert_rows(expert, &chosen, &self.inputs);
        let mut of_policy = rollout_rows(rollout, Some(&own), &self.inputs, outcomes)?;
        self.inputs.count(&of_expert.x);
        self.inputs.count(&of_policy.x);
        of_expert.standardise(&self.inputs);
        of_policy.standardise(&self.inputs);
        if outcomes {
            of_expert.log_prob = expert_log_probs(self.generator.as_mut(), expert, &chosen, unrewarded.statistics)?;
        }
        self.discriminator.step(&of_expert, &of_policy, rate, context)
    }

    /// Pays every step by the discriminator as it is now. The mean is never taken away from rewards: it is what the form of the
    /// reward stands for.
    fn pay(&mut self, unrewarded: Unrewarded<'_>, metrics: &mut Metrics) -> Result<(), LearnError> {
        let Unrewarded { rollout, starts, .. } = unrewarded;
        let rows = self.all_rows(rollout)?;
        let paid = self.discriminator.rewards(&rows);
        self.discriminator.report(&rows, metrics);
        let (count, lanes) = (paid.len(), rollout.lanes);
        let played: Vec<usize> = (0..count).filter(|&row| rollout.valid[row]).collect();
        let mean = played.iter().map(|&row| f64::from(paid[row])).sum::<f64>() / played.len().max(1) as f64;
        metrics.add(self.settings.reward_name, mean as f32);
        if let Some(stats) = &mut self.rewards {
            for &row in &played {
                if starts[row] {
                    stats.restarted(row % lanes..row % lanes + 1);
                }
                stats.add(row % lanes, paid[row]);
            }
        }
        for row in played {
            rollout.reward[row] = self.rewards.as_ref().map_or(paid[row], |stats| stats.scaled(paid[row]));
        }
        Ok(())
    }

    /// Every row of a rollout as the discriminator is shown it; nothing is counted, so twice gives the same.
    fn all_rows(&self, rollout: &Rollout) -> Result<Rows, LearnError> {
        let mut rows = rollout_rows(rollout, None, &self.inputs, self.discriminator.sees_outcomes())?;
        rows.standardise(&self.inputs);
        Ok(rows)
    }

    /// Tells the user where the discriminator has nothing left to learn, and so nothing to teach.
    fn watch(&mut self, metrics: &mut Metrics) {
        let accuracy = self.accuracy / self.steps.max(1) as f32;
        self.sure = if accuracy >= SATURATED { self.sure + 1 } else { 0 };
        if self.sure >= PATIENCE {
            metrics.note(format!(
                "the discriminator was right about {:.0} % of all steps for {PATIENCE} rollouts: its rewards say little about \
                 how to improve. Slow it down: fewer `discriminator_updates`, a lower `discriminator_learning_rate`, or more \
                 regularisation; healthy is 60 to 90 %",
                100.0 * SATURATED
            ));
        }
    }
}

impl Rows {
    fn standardise(&mut self, inputs: &Inputs) {
        inputs.standardise(&mut self.x, inputs.width());
        inputs.standardise(&mut self.next, inputs.obs_width());
    }
}

/// Rows of a table.
fn pick<T: Copy>(from: &[T], rows: &[usize], width: usize) -> Vec<T> {
    rows.iter().flat_map(|&row| &from[row * width..(row + 1) * width]).copied().collect()
}

fn pick_obs(from: &ObsBuf, rows: &[usize]) -> ObsBuf {
    let mut picked = ObsBuf::zeros(from.widths(), rows.len());
    for (to, &row) in rows.iter().enumerate() {
        picked.row_mut(to).copy_from(from.row(row));
    }
    picked
}

/// Rows of the expert, not yet standardised and without probabilities.
fn expert_rows(expert: &ExpertSet, chosen: &[usize], inputs: &Inputs) -> Rows {
    Rows {
        count: chosen.len(),
        x: pick(&expert.x, chosen, inputs.width()),
        next: pick(&expert.next, chosen, inputs.obs_width()),
        goes_on: pick(&expert.goes_on, chosen, 1),
        log_prob: Vec::new(),
    }
}

/// How likely the policy as it is would be to act like the expert.
fn expert_log_probs(
    generator: &mut dyn Generator,
    expert: &ExpertSet,
    chosen: &[usize],
    statistics: Option<&ObsStats>,
) -> Result<Vec<f32>, LearnError> {
    let mut obs = pick_obs(&expert.obs, chosen);
    if let Some(statistics) = statistics {
        let width = obs.widths().floats;
        statistics.scale(&mut obs.floats, width);
    }
    let masks = pick(&expert.masks, chosen, expert.masks.len() / expert.count);
    let actions = pick(&expert.action, chosen, expert.action.len() / expert.count);
    let mut log_probs = vec![0.0; chosen.len()];
    generator.log_probs(ActInput { obs: obs.as_ref(), masks: &masks }, &actions, &mut log_probs)?;
    Ok(log_probs)
}

/// Rows of a rollout, not yet standardised: the chosen ones, or all that are filled.
fn rollout_rows(
    rollout: &Rollout,
    chosen: Option<&[usize]>,
    inputs: &Inputs,
    outcomes: bool,
) -> Result<Rows, LearnError> {
    let Some(RawRows { obs, next_obs }) = &rollout.raw else {
        return Err(LearnError::Other("the rollout has no raw observations to judge".into()));
    };
    let (width, filled) = (rollout.spec().action_width, rollout.filled * rollout.lanes);
    let all: Vec<usize>;
    let rows = match chosen {
        Some(rows) => rows,
        None => {
            all = (0..filled).collect();
            &all
        }
    };
    let actions = pick(&rollout.action, rows, width);
    let mut found =
        Rows { count: rows.len(), x: inputs.join(pick_obs(obs, rows).as_ref(), &actions), ..Rows::default() };
    if outcomes {
        found.next = inputs.observations(pick_obs(next_obs, rows).as_ref());
        found.goes_on = rows.iter().map(|&row| if rollout.terminated[row] { 0.0 } else { 1.0 }).collect();
        found.log_prob = pick(&rollout.log_prob, rows, 1);
    }
    Ok(found)
}

impl Actor for AdversarialLearner {
    fn memory_width(&self) -> usize {
        self.generator.memory_width()
    }

    fn fixed_statistics(&self) -> Option<ObsStats> {
        if self.settings.statistics == InputStatistics::Running {
            return None;
        }
        let nothing = ObsBuf::zeros(self.spaces.obs().widths, 0);
        let rows = self.expert.as_ref().map_or(nothing.as_ref(), |expert| expert.obs.as_ref());
        // Where nothing of an observation has a scale there is nothing to standardise.
        ObsStats::of_rows(&self.spaces, POLICY_FLOOR, rows).ok().flatten()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.generator.act(input, context, actions)
    }

    fn feedback(&mut self, memory: &mut Memory, envs: Range<usize>, actions: &[f32], rewards: &[f32]) {
        self.generator.feedback(memory, envs, actions, rewards);
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        self.generator.onnx(graph, shown)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.generator.visit_policy(io)
    }
}

impl RolloutLearner for AdversarialLearner {
    fn play(&mut self, input: ActInput<'_>, context: ActContext<'_>, row: ActedRow<'_>) -> Result<(), LearnError> {
        self.generator.play(input, context, row)
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.generator.values(input, memory, values)
    }

    fn gives_rewards(&self) -> bool {
        true
    }

    fn compute_rewards(&mut self, unrewarded: Unrewarded<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        if self.steps < self.settings.updates {
            let verdict = self.discriminate(&unrewarded, context)?;
            context.metrics.add("discriminator_loss", verdict.loss);
            context.metrics.add("discriminator_accuracy", verdict.accuracy);
            self.accuracy += verdict.accuracy;
            self.steps += 1;
            return Ok(false);
        }
        self.pay(unrewarded, context.metrics)?;
        self.watch(context.metrics);
        (self.steps, self.accuracy) = (0, 0.0);
        Ok(true)
    }

    fn rewards(&mut self, obs: ObsRef<'_>, actions: &[f32], rewards: &mut [f32]) -> bool {
        let mut x = self.inputs.join(obs, actions);
        self.inputs.standardise(&mut x, self.inputs.width());
        rewards.copy_from_slice(&self.discriminator.reward_function(&x, obs.rows));
        true
    }

    fn check_ready(&self) -> Result<(), Problem> {
        Problem::when(self.expert.is_none(), &[], || {
            "there is nobody to imitate; give the run file a `dataset` with the expert's episodes".to_owned()
        })
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        self.generator.update(played, context)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.generator.visit_state(io)?;
        io.scope("discriminator", |io| {
            self.discriminator.visit_state(io)?;
            self.inputs.visit_state(io)?;
            if let Some(rewards) = &mut self.rewards {
                rewards.visit_state(io)?;
            }
            io.value("steps", &mut self.steps)?;
            io.value("accuracy", &mut self.accuracy)?;
            io.value("sure", &mut self.sure)
        })?;
        let own = self.expert.as_ref().map(|expert| hex(&expert.sha256));
        let mut saved = own.clone();
        io.value("prior", &mut saved)?;
        if saved == own {
            return Ok(());
        }
        let problem = "the expert's episodes are not those that the run began with".to_owned();
        Err(StateError::Misfit { name: "prior".to_owned(), problem })
    }
}
