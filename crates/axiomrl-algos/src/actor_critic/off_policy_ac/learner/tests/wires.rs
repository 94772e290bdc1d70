//! Whether what a preset asks for reaches the formula that does it.

use super::*;
use crate::actor_critic::off_policy_ac::choices::ActorReducer;
use crate::parts::temperature::TemperatureSetting;

fn rows() -> Batch {
    batch(&vector(), 1, 6)
}

/// The bonus of each next action, and the next actions.
fn next_of(learner: &mut AcLearner, batch: &Batch) -> (Vec<f32>, Vec<f32>) {
    let (mut ahead, _) =
        with_context(1, |context| learner.next_actions(&Window::new(batch, false, 0), context).unwrap());
    let first = ahead.remove(0);
    (first.bonus, first.action)
}

#[test]
fn targets_pay_for_the_entropy_of_the_next_action() {
    let mut sac = learner(AcConfig { ent_coef: Some(TemperatureSetting::Fixed(0.5)), ..presets::sac() }, vector());
    let (bonus, _) = next_of(&mut sac, &rows());
    assert!(sac.drawn.log_prob.iter().all(|log_prob| *log_prob != 0.0));
    assert_eq!(bonus, sac.drawn.log_prob.iter().map(|log_prob| -0.5 * log_prob).collect::<Vec<_>>());
}

#[test]
fn targets_are_held_to_recorded_next_actions() {
    let mut rebrac = learner(presets::rebrac(), vector());
    let (bonus, _) = next_of(&mut rebrac, &prior::rows(6));
    assert!(bonus.iter().all(|bonus| *bonus < 0.0), "{bonus:?}");
}

#[test]
fn the_entropy_to_aim_for_is_minus_the_number_of_actions() {
    // Of two actions: an entropy of -1 is more than that, one of -3 is less.
    for (log_prob, grows) in [(1.0, false), (3.0, true)] {
        let mut sac = learner(presets::sac(), vector());
        let before = sac.temperature.value();
        with_context(1, |context| sac.update_temperature(log_prob, context));
        assert_eq!(sac.temperature.value() > before, grows);
    }
}

#[test]
fn target_actions_are_smoothed_by_noise_within_its_bounds() {
    let config = AcConfig { target_noise: 5.0, target_noise_clip: 0.05, ..presets::td3() };
    let (mut td3, batch) = (learner(config, vector()), rows());
    let (_, action) = next_of(&mut td3, &batch);
    let mut mean = vec![0.0; action.len()];
    let (mut memory, mut rng) = (Memory::new(6, 0), stream(1, "act"));
    let seen = ActInput::of(batch.next_obs());
    td3.act(seen, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut mean).unwrap();
    let apart: Vec<f32> = action.iter().zip(&mean).map(|(a, b)| (a - b).abs()).collect();
    assert!(apart.iter().all(|d| *d <= 0.05 + 1e-6) && apart.iter().any(|d| *d > 0.04), "{apart:?}");
}

#[test]
fn an_actor_that_learns_once_a_block_waits_for_its_end() {
    let (mut redq, batch) = (learner(presets::redq(), vector()), rows());
    let mut moved = |closes_burst: bool| {
        changed(&mut redq, |redq| {
            with_context(1, |context| {
                context.closes_burst = closes_burst;
                redq.update(&batch, context).unwrap();
            });
        })
    };
    assert_eq!(moved(false), ["critic", "critic_target"]);
    assert_eq!(moved(true), ["actor", "critic", "critic_target", "log_ent_coef"]);
}

#[test]
fn the_actor_of_td3_follows_the_first_critic_alone() {
    let after = |shifted: Option<usize>| {
        let (mut td3, batch) = (learner(presets::td3(), vector()), rows());
        shifted.into_iter().for_each(|member| td3.critic.shift(member, -0.5));
        let window = Window::new(&batch, false, 0);
        with_context(1, |context| {
            let (mut states, seen) = (td3.burn_in(&window), td3.encoder.infer(batch.obs()).into_owned());
            td3.update_actor(&seen, &window, &mut states, context).unwrap();
        });
        tensors(&mut td3).into_iter().filter(|(name, _)| name.starts_with("actor.")).collect::<Vec<_>>()
    };
    assert_eq!(after(Some(1)), after(None));
    assert_ne!(after(Some(0)), after(None));
}

#[test]
fn the_slope_by_an_action_is_cut_to_its_limit() {
    let (td3, batch) = (learner(presets::td3(), vector()), rows());
    let window = Window::new(&batch, false, 0);
    let slopes = |limit: Option<f32>| {
        let judged = td3.critic.judge(batch.obs().floats, &batch.action, &window, ActorReducer::Mean, limit, None);
        judged.by.by_action
    };
    let norm = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>().sqrt();
    for (free, cut) in slopes(None).chunks_exact(2).zip(slopes(Some(1e-3)).chunks_exact(2)) {
        assert!(norm(free) > 1e-2 && (norm(cut) - 1e-3).abs() < 1e-5, "{free:?} {cut:?}");
    }
}

#[test]
fn each_update_asks_other_critics_and_drops_other_units() {
    let differ = |config: AcConfig| {
        let (mut learner, batch) = (learner(config, vector()), rows());
        let window = Window::new(&batch, false, 0);
        let targets: Vec<Vec<f32>> = with_context(1, |context| {
            let (ahead, _) = learner.next_actions(&window, context).unwrap();
            let mut again = || {
                learner.critic.compute_targets(&ahead, &window, 0, &batch.reward, context.rng);
                learner.critic.targets().to_vec()
            };
            (0..10).map(|_| again()).collect()
        });
        targets.iter().any(|other| *other != targets[0])
    };
    assert!(!differ(presets::sac()));
    assert!(differ(presets::redq()));
    assert!(differ(AcConfig { critic_dropout: 0.5, ..presets::droq() }));
    let (droq, mut rng) = (learner(presets::droq(), vector()), stream(1, "seeds"));
    let seeds = [(); 2].map(|()| droq.critic.dropout_seed(&mut rng));
    assert!(seeds[0].is_some() && seeds[0] != seeds[1]);
}

#[test]
fn a_row_without_weight_teaches_the_critics_nothing() {
    let after = |weight: f32, reward: f32| {
        let (mut sac, mut batch) = (learner(presets::sac(), vector()), rows());
        (batch.weight[2], batch.reward[2]) = (weight, reward);
        update(&mut sac, &batch, 1);
        tensors(&mut sac)
    };
    assert_eq!(after(0.0, 1.0), after(0.0, 50.0));
    assert_ne!(after(1.0, 1.0), after(1.0, 50.0));
}
