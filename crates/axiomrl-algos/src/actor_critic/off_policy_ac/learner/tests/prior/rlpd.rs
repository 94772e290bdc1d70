//! RLPD: both halves of a batch, bursts, bounded critics.

use super::*;
use crate::agent::{Agent, Need};
use crate::regimes::{OffPolicy, ReplaySettings};
use axiomrl_core::{DatasetBuilder, Episode};
use axiomrl_envs::{ObsRef, VecState};
use std::sync::{Arc, Mutex};

/// An RLPD learner that writes down what reaches it: rewards, whether the burst ends, and what changed.
struct Spy {
    learner: AcLearner,
    seen: Arc<Mutex<Vec<(Vec<f32>, bool, Vec<String>)>>>,
}

impl policy::Actor for Spy {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.learner.act(input, context, actions)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.learner.visit_policy(io)
    }
}

impl ReplayLearner for Spy {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let closes = context.closes_burst;
        let names = changed(&mut self.learner, |learner| learner.update(batch, context).unwrap());
        self.seen.lock().unwrap().push((batch.reward.clone(), closes, names));
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.learner.visit_state(io)
    }
}

#[test]
fn a_burst_of_rlpd_draws_both_halves_anew_and_ends_with_the_actor() {
    // Recorded rewards are 100, those of the run -1.
    let spaces = Spaces::new(vector(), Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    let mut recorded = DatasetBuilder::new(spaces).unwrap();
    let obs: Vec<f32> = (0..18).map(|i| 0.05 * i as f32).collect();
    let episode = Episode {
        obs: ObsRef::of_floats(6, &obs),
        masks: &[],
        action: &[0.1; 10],
        reward: &[100.0; 5],
        terminated: &[false; 5],
        truncated: &[false; 5],
    };
    recorded.push(&episode).unwrap();
    let setup = Setup { prior: Some(recorded.build().unwrap()), total: 10, ..setup(vector()) };
    let config = AcConfig { batch_size: 4, gradient_steps: 2, learning_starts: 1, n_critics: 3, ..presets::rlpd() };
    let settings = ReplaySettings { batch_size: 4, gradient_steps: Some(2), learning_starts: 1, ..Default::default() };
    let settings = ReplaySettings { prior_share: config.offline_batch_ratio, pretraining: 1, ..settings };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let spy = Spy { learner: AcLearner::new(small(config), &setup).unwrap(), seen: seen.clone() };
    let mut agent = OffPolicy::new(Box::new(spy), settings, &setup).unwrap();
    let (mut state, mut actions, mut log) = (VecState::new(&setup.spaces, 1), vec![0.0; 2], Metrics::default());
    agent.restarted(0..1, &state).unwrap();
    let mut clock = Clock { env_steps: 0, updates: 0, at: 0, total: 10 };
    for step in 0..3 {
        while agent.need(clock) == Need::Update {
            clock.updates += agent.update(clock, &mut log).unwrap();
        }
        agent.act(&state, clock, &mut actions).unwrap();
        state.reward[0] = -1.0;
        state.obs.floats.fill(0.1 * step as f32);
        agent.observe(0..1, &actions, &state).unwrap();
        (clock.env_steps, clock.at) = (clock.env_steps + 1, clock.at + 1);
    }
    let seen = seen.lock().unwrap();
    let recorded = |rewards: &[f32]| rewards.iter().filter(|r| **r == 100.0).count();
    // A burst of pre-training on recorded rows alone, none for the random step, and one for the next.
    let shares: Vec<usize> = seen.iter().map(|(rewards, ..)| recorded(rewards)).collect();
    assert_eq!(shares, [4, 4, 2, 2]);
    for (at, (_, closes, names)) in seen.iter().enumerate() {
        assert_eq!(*closes, at % 2 == 1);
        let critics = ["critic", "critic_target"];
        let all = ["actor", "critic", "critic_target", "log_ent_coef"];
        assert_eq!(names[..], if *closes { &all[..] } else { &critics[..] }[..]);
    }
    let logged: BTreeMap<_, _> = log.take().into_iter().collect();
    assert_eq!(logged["offline_fraction"], 0.75);
}

#[test]
fn every_target_critic_of_rlpd_moves_whichever_took_part() {
    let mut rlpd = learner(AcConfig { n_critics: 4, subset_size: 1, ..presets::rlpd() }, vector());
    let before = rlpd.critic.targets_of_members();
    update(&mut rlpd, &rows(6), 1);
    let now = rlpd.critic.targets_of_members();
    assert!(before.len() == 4 && before.iter().zip(&now).all(|(before, now)| before != now));
}

#[test]
fn the_critics_loss_of_rlpd_by_hand() {
    // Three critics that say 1, 2 and 3 whatever they see, and a target of 2.6186.
    let config = AcConfig { n_critics: 3, critic_loss_coef: 2.0 / 3.0, hidden_sizes: vec![4], ..presets::rlpd() };
    let mut rlpd = learner(config.clone(), vector());
    rlpd.critic.say(&[1.0, 2.0, 3.0]);
    let mut ended = rows(2);
    ended.reward.fill(2.6186);
    ended.discount.fill(0.0);
    let found = metrics(&mut rlpd, &ended, 1);
    assert!((found["critic_loss"] - 1.049333).abs() < 1e-4, "{found:?}");
    assert!((found["target_q_mean"] - 2.6186).abs() < 1e-5);
    // The preset's own coefficient makes it the mean over its ten critics.
    assert_eq!(presets::rlpd().critic_loss_coef * presets::rlpd().n_critics as f32, 2.0);
}

#[test]
fn layer_norm_bounds_what_an_unheard_of_action_can_be_worth() {
    let largest = |config: AcConfig| {
        let config = AcConfig { hidden_sizes: vec![32], ..config };
        let mut rlpd = AcLearner::new(config, &setup(vector())).unwrap();
        let bound = rlpd.critic.bound();
        let mut values = [0.0];
        rlpd.critic.values(&[0.1, 0.2, 0.3], &[1e6, -1e6], 1, &mut values);
        (values[0].abs(), bound)
    };
    let (value, bound) = largest(presets::rlpd());
    assert!(value <= bound && bound < 100.0, "{value} {bound}");
    let (value, bound) = largest(AcConfig { critic_layer_norm: false, ..presets::rlpd() });
    assert!(value > 100.0 * bound, "{value} {bound}");
}

#[test]
fn future_entropy_counts_only_where_it_is_backed_up() {
    let rlpd = |entropy_backup| after(AcConfig { entropy_backup, ..presets::rlpd() }, &rows(6));
    assert!(!same(&rlpd(true), &rlpd(false), "critic"));
    let mut ended = rows(6);
    ended.discount.fill(0.0);
    let rlpd = |entropy_backup| after(AcConfig { entropy_backup, ..presets::rlpd() }, &ended);
    assert!(same(&rlpd(true), &rlpd(false), "critic"));
}

#[test]
fn rlpd_sees_images() {
    let config = AcConfig { shift: 1, encoder_tau: Some(0.005), ..presets::rlpd() };
    let mut rlpd = learner(config, image());
    let all = changed(&mut rlpd, |rlpd| drop(update(rlpd, &super::super::batch(&image(), 1, 6), 1)));
    for network in ["encoder.vision", "encoder_target.vision", "critic.trunk", "critic_target.heads", "actor.trunk"] {
        assert!(all.contains(&network.to_owned()), "{network}: {all:?}");
    }
}
