//! Runs put together in code.

use axiomrl::prelude::*;
use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what it is told, and stops the run after a number of updates.
struct Counter {
    updates: Arc<AtomicU64>,
    stop_after: u64,
}

impl Observer for Counter {
    fn on(&mut self, event: &Event<'_>) -> Result<ControlFlow<StopReason>, Box<dyn Error + Send + Sync>> {
        if let Event::Updated(_) = event {
            let seen = self.updates.fetch_add(1, Ordering::Relaxed) + 1;
            if seen == self.stop_after {
                return Ok(ControlFlow::Break(StopReason::Interrupted));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn small_dqn() -> Dqn {
    Dqn { hidden_sizes: vec![8], learning_starts: 20, batch_size: 8, ..Dqn::default() }
}

#[test]
fn an_observer_hears_of_every_update_and_can_stop_the_run() {
    let updates = Arc::new(AtomicU64::new(0));
    let counter = Counter { updates: updates.clone(), stop_after: 5 };
    let trained = Experiment::new(small_dqn()).env_id("CartPole-v1").observe(counter).train(1000).unwrap();
    assert_eq!((trained.outcome.updates, updates.load(Ordering::Relaxed)), (5, 5));
    assert_eq!(trained.outcome.reason, StopReason::Interrupted);
    assert!(trained.outcome.run_dir.as_os_str().is_empty(), "nothing was written");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let error = |experiment: Experiment| experiment.train(100).err().unwrap().to_string();
    assert!(error(Experiment::new(small_dqn())).contains("no environment"));
    assert!(error(Experiment::new(small_dqn()).env_id("CartPole-v2")).contains("CartPole-v1"));
    assert!(error(Experiment::new(small_dqn()).env_id("Pendulum-v1")).contains("does not act in Box"));
    let unknown = Experiment::new(small_dqn()).env_id("CartPole-v1").set("num_env", 3);
    assert!(error(unknown).contains("num_envs"));
    let negative = Dqn { gamma: -1.0, ..small_dqn() };
    assert!(error(Experiment::new(negative).env_id("CartPole-v1")).contains("gamma"));
}

#[test]
fn a_trainer_can_be_driven_piece_by_piece() {
    let mut trainer = Experiment::new(small_dqn()).env_id("CartPole-v1").trainer(60).unwrap();
    let (mut rounds, mut updates) = (0, 0);
    let outcome = loop {
        match trainer.unit().unwrap() {
            Unit::Round => rounds += 1,
            Unit::Update => updates += 1,
            Unit::Duties => {}
            Unit::Ended(outcome) => break outcome,
        }
    };
    assert_eq!((rounds, outcome.steps), (60, 60));
    assert_eq!((updates, outcome.updates), (updates, updates));
    assert!(updates > 10);
    fn assert_send<T: Send>() {}
    assert_send::<Trainer>();
}

/// Every choice of every setting can be named from outside.
#[test]
fn choices_can_be_written_in_code() {
    use axiomrl::settings::*;
    let sac = Sac {
        actor: ActorKind::TanhGaussian,
        target_action: TargetAction::OnlineActor,
        critic_output: CriticOutput::Scalar,
        target_reducer: TargetReducer::Min,
        actor_reducer: ActorReducer::Min,
        ent_coef: Some(TemperatureSetting::Auto),
        exploration: ActionExploration::Policy,
        activation: Activation::Relu,
        hidden_sizes: vec![8],
        goal_selection_strategy: GoalStrategy::Future,
        ..Sac::default()
    };
    assert_eq!(sac.actor, ActorKind::TanhGaussian);
    let dqn = Dqn { head: HeadKind::Quantile, backup: Backup::Max, exploration: Exploration::Epsilon, ..small_dqn() };
    assert_eq!(Dqn { vision: Vision::Small, ..dqn }.head, HeadKind::Quantile);
    let naf = Naf { exploration: NafExploration::Colored, diagonal: Diagonal::Exp, ..Naf::default() };
    assert_eq!(naf.diagonal, Diagonal::Exp);
    assert_eq!(Ppo { memory: MemoryKind::Gru, ..Ppo::recurrent() }.memory, MemoryKind::Gru);
    let drqn = Dqn { memory: MemoryKind::Gru, ..axiomrl::settings::q_learning_presets::drqn() };
    assert_eq!(drqn.memory, MemoryKind::Gru);
    assert_eq!(Sac { shift: 2, ..presets::drqv2() }.actor, ActorKind::ScheduledNoise);
    assert_eq!(Her { base: HerBase::Sac, ..Her::default() }.base, HerBase::Sac);
}

#[test]
fn other_names_of_the_same_settings_are_known() {
    let td3 = Sac { hidden_sizes: vec![8, 8], batch_size: 8, learning_starts: 20, ..axiomrl::settings::presets::td3() };
    let trained = Experiment::new(td3).named("td3").env_id("Pendulum-v1").set("eval_episodes", 1).train(60).unwrap();
    assert_eq!(trained.trainer.config().algo, "td3");
}
