//! Who is asked for what, and where the answers go. In place of networks there are numbers.

use super::*;
use crate::agent::Diverged;
use crate::parts::torso::MemoryKind;
use crate::q_learning::model::{Lesson, LossFn, Outputs};
use crate::q_learning::outcomes::Spoken;
use axiomrl_core::{BatchShape, Metrics, stream};
use axiomrl_envs::ObsWidths;

/// Says the same of every observation.
#[derive(Default)]
struct Told {
    online: [f32; 2],
    target: [f32; 2],
    /// What the target network says when it is asked once more, to choose by.
    choice: Option<[f32; 2]>,
    memory: usize,
    /// Of the last answer of the target network.
    rows: usize,
    copies: u32,
}

fn say(values: [f32; 2], rows: usize, out: &mut Outcomes) {
    (out.members, out.rows, out.actions, out.width) = (1, rows, 2, 1);
    out.values = values.repeat(rows);
}

impl Model for Told {
    fn memory_width(&self) -> usize {
        self.memory
    }

    fn infer_online(&mut self, seen: Sequences<'_>, _state: &mut [f32], _noise: Option<&mut Rng>, out: &mut Outcomes) {
        say(self.online, seen.steps * seen.rows, out);
    }

    fn infer_target(&mut self, seen: Sequences<'_>, _state: &mut [f32], _rng: &mut Rng, out: &mut Outcomes) {
        self.rows = seen.steps * seen.rows;
        say(self.target, self.rows, out);
    }

    fn infer_choice(&mut self, _rng: &mut Rng, out: &mut Outcomes) -> bool {
        self.choice.is_some_and(|choice| {
            say(choice, self.rows, out);
            true
        })
    }

    fn remember(&self, _seen: Sequences<'_>, _online: &mut [f32], _target: &mut [f32]) {}

    fn fit(&mut self, lesson: Lesson<'_>, _context: &mut UpdateContext<'_>, loss: LossFn<'_>) -> Result<f32, Diverged> {
        let rows = lesson.seen.steps * lesson.seen.rows;
        let values = self.online.repeat(rows);
        loss(Outputs { members: 1, rows, actions: 2, width: 1, values: &values, fractions: &[], share: &[] });
        Ok(0.0)
    }

    fn soft_update(&mut self, _tau: f32) {
        self.copies += 1;
    }

    fn onnx(&self, _graph: &mut Graph, _shown: Shown) -> Result<Spoken, NoGraph> {
        Err(NoGraph::because("it is no network"))
    }

    fn visit_policy(&mut self, _io: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }

    fn visit_state(&mut self, _io: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn learner(config: DqnConfig, told: Told) -> QLearner<Told> {
    QLearner::new(config, Head::Scalar { kappa: 1.0 }, 2, told)
}

/// The target of one transition with reward 1 and discount 1/2.
fn target(config: &DqnConfig, told: Told) -> f64 {
    let mut batch = Batch::default();
    let widths = ObsWidths { floats: 1, bytes: 0 };
    batch.resize(&BatchShape { steps: 1, widths, action_width: 1, ..BatchShape::default() }, 1);
    (batch.reward[0], batch.discount[0], batch.next[0], batch.valid[0]) = (1.0, 0.5, 1, true);
    let (mut rng, mut metrics) = (stream(1, "test"), Metrics::default());
    let mut context = UpdateContext::new(Clock { total: 100, ..Clock::default() }, &mut rng, &mut metrics);
    learner(config.clone(), told).update(&batch, &mut context).unwrap();
    metrics.take().into_iter().find(|(name, _)| name == "target_mean").unwrap().1
}

#[test]
fn what_chooses_the_next_action_reaches_the_target() {
    for (kind, memory) in [(MemoryKind::None, 0), (MemoryKind::Lstm, 1)] {
        let plain = DqnConfig { memory: kind, ..DqnConfig::default() };
        let double = DqnConfig { double_q: true, ..plain.clone() };
        // The target network values the actions 3 and 5; the online network prefers the first.
        let told = |choice| Told { online: [9.0, 1.0], target: [3.0, 5.0], choice, memory, ..Told::default() };
        assert_eq!(target(&plain, told(None)), 1.0 + 0.5 * 5.0);
        assert_eq!(target(&double, told(None)), 1.0 + 0.5 * 3.0);
        // Asked once more, at other fractions, the target network prefers the first, too; but in
        // double Q-learning nobody asks.
        assert_eq!(target(&plain, told(Some([2.0, 1.0]))), 1.0 + 0.5 * 3.0);
        assert_eq!(target(&double, told(Some([1.0, 2.0]))), 1.0 + 0.5 * 3.0);
    }
}

#[test]
fn the_target_network_follows_once_an_interval() {
    let mut learner = learner(DqnConfig { target_update_interval: 10, ..DqnConfig::default() }, Told::default());
    for (before, after, copies) in [(0, 9, 0), (9, 10, 1), (10, 19, 1), (15, 45, 2)] {
        learner.stepped(before, after);
        assert_eq!(learner.model.copies, copies, "{before} to {after}");
    }
}
