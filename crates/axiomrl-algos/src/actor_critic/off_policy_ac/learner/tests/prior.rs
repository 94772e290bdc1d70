//! What recorded transitions do in an update: each term seen from outside.

mod rlpd;

use super::*;
use crate::actor_critic::off_policy_ac::choices::{UpdateOrder, WeightInit};
use axiomrl_core::{Extra, NEXT_ACTION_KNOWN, Schedule};
use axiomrl_envs::Rng;

/// Single steps with next actions and returns of noise.
pub(super) fn rows(count: usize) -> Batch {
    let mut batch = batch(&vector(), 1, count);
    let mut rng = stream(6, "extras");
    let mut add = |name: &'static str, width: usize, value: &mut dyn FnMut(&mut Rng) -> f32| {
        let values = (0..count * width).map(|_| value(&mut rng)).collect();
        batch.extra.push(Extra { name: name.into(), width, values });
    };
    add(NEXT_ACTION, 2, &mut |rng| rng.random_range(-1.0..1.0));
    add(NEXT_ACTION_KNOWN, 1, &mut |_| 1.0);
    add(RETURN_TO_GO, 1, &mut |rng| rng.random_range(-1.0..1.0));
    batch
}

fn set(batch: &mut Batch, name: &str, at: usize, value: f32) {
    let column = batch.extra.iter_mut().find(|column| column.name == name).unwrap();
    column.values[at] = value;
}

/// The networks after the first update of a fresh learner.
fn after(config: AcConfig, batch: &Batch) -> BTreeMap<String, Vec<f32>> {
    let mut learner = learner(config, vector());
    update(&mut learner, batch, 1);
    tensors(&mut learner)
}

/// A learner that has seen the same action recorded in every row for a while, and does nothing else by now; with those rows.
fn imitator(config: AcConfig, batch: &Batch) -> (AcLearner, Batch) {
    let (mut imitator, mut one) = (learner(config, vector()), batch.clone());
    one.action.chunks_exact_mut(2).for_each(|action| action.copy_from_slice(&[0.5, -0.25]));
    (1..=300).for_each(|number| drop(update(&mut imitator, &one, number)));
    let mut actions = vec![0.0; 2 * one.rows];
    let (mut memory, mut rng) = (Memory::new(one.rows, 0), stream(1, "act"));
    imitator.act(ActInput::of(one.obs()), ActContext::new(&mut memory, Mode::Best, &mut rng), &mut actions).unwrap();
    assert!(actions.chunks_exact(2).all(|a| (a[0] - 0.5).abs() < 0.1 && (a[1] + 0.25).abs() < 0.1), "{actions:?}");
    (imitator, one)
}

/// Whether two sets of networks agree in those whose names begin like this.
fn same(a: &BTreeMap<String, Vec<f32>>, b: &BTreeMap<String, Vec<f32>>, network: &str) -> bool {
    let of = |all: &BTreeMap<String, Vec<f32>>| -> Vec<(String, Vec<f32>)> {
        let own = all.iter().filter(|(name, _)| name.split('.').next() == Some(network));
        own.map(|(name, values)| (name.clone(), values.clone())).collect()
    };
    assert!(!of(a).is_empty(), "there is no {network}");
    of(a) == of(b)
}

fn metrics(learner: &mut AcLearner, batch: &Batch, number: u64) -> BTreeMap<String, f64> {
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 10, updates: number - 1, at: 10, total: 100 };
    let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
    learner.update(batch, &mut context).unwrap();
    metrics.take().into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
}

#[test]
fn recorded_actions_are_kept_inside_of_their_bounds() {
    let mut edge = rows(6);
    edge.action.fill(1.0);
    let mut inside = edge.clone();
    inside.action.fill(1.0 - 1e-5);
    let both = |config: AcConfig| (after(config.clone(), &edge), after(config, &inside));
    let (edge_rlpd, inside_rlpd) = both(presets::rlpd());
    assert!(same(&edge_rlpd, &inside_rlpd, "critic"));
    // A run of its own alone takes them as they are.
    let (edge_sac, inside_sac) = both(presets::sac());
    assert!(!same(&edge_sac, &inside_sac, "critic"));
}

#[test]
fn weights_begin_as_the_presets_say() {
    let network = |config: AcConfig, name: &str| {
        let mut learner = AcLearner::new(AcConfig { hidden_sizes: vec![64], ..config }, &setup(vector())).unwrap();
        tensors(&mut learner).remove(name).unwrap()
    };
    let largest = |values: &[f32]| values.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    for name in ["actor.0.bias", "actor.1.bias", "critic.0.0.bias", "critic.0.1.bias"] {
        assert!(network(presets::rlpd(), name).iter().all(|bias| *bias == 0.0), "{name}");
    }
    // Xavier: the root of six over inputs and outputs, in every layer.
    let hidden = (6.0f32 / (5.0 + 64.0)).sqrt();
    let found = largest(&network(presets::rlpd(), "critic.0.0.weight"));
    assert!(found <= hidden && found > 0.95 * hidden);
    assert!(largest(&network(presets::rlpd(), "actor.1.weight")) > 0.2);
    for config in [presets::rebrac(), presets::edac()] {
        assert!(network(config.clone(), "critic.0.0.bias").iter().all(|bias| *bias == 0.1));
        assert!(network(config.clone(), "actor.0.bias").iter().all(|bias| *bias == 0.1));
        let (actor, critic) = (network(config.clone(), "actor.1.weight"), network(config, "critic.0.1.weight"));
        assert!(largest(&actor) <= 1e-3 && largest(&critic) <= 3e-3 && largest(&critic) > 1.5e-3);
    }
    // Means near 0, deviations near e^-1.
    let bias = network(presets::cql(), "actor.1.bias");
    assert!(largest(&bias[..2]) < 1e-3 && bias[2..].iter().all(|b| (b + 1.0).abs() < 1e-3), "{bias:?}");
    assert_eq!(presets::sac().weight_init, WeightInit::Uniform);
}

#[test]
fn an_anchor_pulls_the_actor_to_recorded_actions_and_leaves_the_critics_alone() {
    let td3_bc = AcConfig { policy_delay: 1, ..presets::td3_bc() };
    let batch = rows(32);
    let held = after(td3_bc.clone(), &batch);
    let free = after(AcConfig { actor_bc_weight: 0.0, ..td3_bc.clone() }, &batch);
    assert!(same(&held, &free, "critic") && !same(&held, &free, "actor"));
    // Nothing but the anchor, for a while: the actor learns the one action that was recorded.
    let config = AcConfig {
        bc_alpha: Some(0.0),
        learning_rate: Schedule::Constant(1e-2),
        hidden_sizes: vec![16],
        ..td3_bc.clone()
    };
    let (mut imitator, one) = imitator(config, &batch);
    assert!(metrics(&mut imitator, &one, 301)["bc_loss"] < 0.01);
    // The scale of rewards makes no difference to its choice: the value is divided by its own size.
    let scaled = |reward_scale| after(AcConfig { reward_scale, ..td3_bc.clone() }, &batch);
    assert!(!same(&scaled(1.0), &scaled(10.0), "critic"));
}

#[test]
fn rebrac_holds_targets_to_recorded_next_actions_and_skips_rows_without() {
    let rebrac = AcConfig { policy_delay: 1, batch_size: 6, ..presets::rebrac() };
    let batch = rows(6);
    let mut other = batch.clone();
    set(&mut other, NEXT_ACTION, 3, 0.9);
    assert!(!same(&after(rebrac.clone(), &batch), &after(rebrac.clone(), &other), "critic"));
    // Where the world ended, what was done next means nothing.
    let ended = |mut batch: Batch| {
        batch.discount[1] = 0.0;
        after(rebrac.clone(), &batch)
    };
    assert!(same(&ended(batch.clone()), &ended(other.clone()), "critic"));
    // A row without a next action is not learned from, by either network.
    let unknown = |reward: f32| {
        let mut batch = batch.clone();
        set(&mut batch, NEXT_ACTION_KNOWN, 2, 0.0);
        (batch.reward[2], batch.action[4]) = (reward, 0.1 * reward);
        after(rebrac.clone(), &batch)
    };
    assert_eq!(unknown(1.0), unknown(5.0));
    assert!(!same(&unknown(1.0), &after(rebrac.clone(), &batch), "critic"));
    // Without a weight the columns are not asked for.
    let plain = AcConfig { critic_bc_weight: 0.0, ..rebrac.clone() };
    assert!(same(&after(plain.clone(), &batch), &after(plain, &super::batch(&vector(), 1, 6)), "critic"));
    let mut missing = learner(rebrac, vector());
    let refused = with_context(1, |context| missing.update(&super::batch(&vector(), 1, 6), context));
    assert!(refused.unwrap_err().to_string().contains("next_action"));
}

#[test]
fn together_means_from_the_networks_before_the_update() {
    let rates = |actor: f64, critic: f64, update_order| {
        let config = AcConfig {
            actor_learning_rate: Some(Schedule::Constant(actor)),
            critic_learning_rate: Some(Schedule::Constant(critic)),
            update_order,
            ..presets::sac_n()
        };
        after(config, &rows(6))
    };
    let together = UpdateOrder::Together;
    assert!(same(&rates(1e-2, 0.0, together), &rates(1e-2, 1e-2, together), "actor"));
    assert!(same(&rates(0.0, 1e-2, together), &rates(1e-2, 1e-2, together), "critic"));
    let critics_first = UpdateOrder::CriticsFirst;
    assert!(!same(&rates(1e-2, 0.0, critics_first), &rates(1e-2, 1e-2, critics_first), "actor"));
}

#[test]
fn a_conservative_critic_values_recorded_actions_above_others() {
    let batch = rows(32);
    let config = |cql_alpha| AcConfig {
        cql_alpha,
        learning_rate: Schedule::Constant(3e-3),
        actor_learning_rate: Some(Schedule::Constant(0.0)),
        ..presets::cql()
    };
    let gap_after = |alpha: f32| {
        let mut cql = learner(config(alpha), vector());
        let first = metrics(&mut cql, &batch, 1);
        (2..=600).for_each(|number| drop(update(&mut cql, &batch, number)));
        let last = metrics(&mut cql, &batch, 601);
        assert!(f64::from(alpha) == last["conservative_weight"] && last["q_data_mean"].is_finite());
        (first["conservative_gap"], last["conservative_gap"])
    };
    let (before, heavy) = gap_after(20.0);
    let (same_before, light) = gap_after(1e-3);
    assert_eq!(before, same_before);
    // log 30 + 2 log 2 for critics that begin flat, but for how the policy's density departs from the uniform one.
    assert!((before - 4.787).abs() < 0.6, "{before}");
    assert!(heavy < before - 0.5 && heavy < light - 0.5, "{before}, {heavy}, {light}");
    // Without the term nothing is drawn for it.
    assert!(!metrics(&mut learner(config(0.0), vector()), &batch, 1).contains_key("conservative_gap"));
}

#[test]
fn what_was_earned_calibrates_only_where_it_is_higher() {
    let earned = |value: f32| {
        let mut batch = rows(6);
        (0..6).for_each(|row| set(&mut batch, RETURN_TO_GO, row, value));
        batch
    };
    let cql = after(presets::cql(), &earned(5.0));
    assert!(same(&cql, &after(presets::cal_ql(), &earned(f32::NEG_INFINITY)), "critic"));
    assert!(!same(&cql, &after(presets::cal_ql(), &earned(5.0)), "critic"));
    // Returns are scaled as rewards are.
    let scaled = AcConfig { reward_scale: 2.0, ..presets::cal_ql() };
    let mut halved = earned(2.5);
    halved.reward.iter_mut().for_each(|reward| *reward *= 0.5);
    assert!(same(&after(presets::cal_ql(), &earned(5.0)), &after(scaled, &halved), "critic"));
}

#[test]
fn the_weight_of_the_gap_adapts_and_is_part_of_the_state() {
    let config = AcConfig { cql_target_gap: Some(1.0), ..presets::cql() };
    let mut cql = learner(config.clone(), vector());
    let batch = rows(6);
    let names = changed(&mut cql, |cql| drop(update(cql, &batch, 1)));
    assert_eq!(names, ["actor", "critic", "critic_target", "log_cql_factor", "log_ent_coef"]);
    let weight = metrics(&mut cql, &batch, 2)["conservative_weight"];
    assert!(weight > 5.0, "the gap is above its target, and {weight} has not grown");
    // A run that stops here goes on to the same bits.
    let mut saved = Snapshot::default();
    let mut io = StateIo::save(&mut saved, None);
    io.policy(|io| cql.visit_policy(io)).unwrap();
    cql.visit_state(&mut io).unwrap();
    let mut again = learner(config, vector());
    let mut io = StateIo::load(&saved, None);
    io.policy(|io| again.visit_policy(io)).unwrap();
    again.visit_state(&mut io).unwrap();
    update(&mut cql, &batch, 3);
    update(&mut again, &batch, 3);
    assert_eq!(tensors(&mut cql), tensors(&mut again));
}

#[test]
fn a_warm_up_imitates_and_does_not_listen_to_the_critics() {
    let batch = rows(32);
    let actor_after = |bc_warmup: u64, opinion: f32| {
        let config = AcConfig { bc_warmup, ..presets::cql() };
        let mut cql = learner(config, vector());
        cql.critic.tilt(opinion);
        update(&mut cql, &batch, 5);
        tensors(&mut cql)
    };
    assert!(same(&actor_after(5, 0.0), &actor_after(5, 3.0), "actor"));
    assert!(!same(&actor_after(4, 0.0), &actor_after(4, 3.0), "actor"));
    // What it learns is what was recorded.
    let config = AcConfig {
        bc_warmup: 1000,
        actor_learning_rate: Some(Schedule::Constant(1e-2)),
        ent_coef: Some(TemperatureSetting::Fixed(0.0)),
        num_cql_samples: 1,
        ..presets::cql()
    };
    imitator(config, &batch);
}

#[test]
fn more_actions_raise_targets_to_the_best_of_them() {
    let batch = rows(16);
    let targets = |target_samples| {
        let mut cql = learner(AcConfig { target_samples, ..presets::cql() }, vector());
        cql.critic.tilt(2.0);
        let window = Window::new(&batch, false, 0);
        let ahead = with_context(1, |context| cql.next_actions(&window, context).unwrap().0);
        assert_eq!(ahead[0].action.len(), 32 * target_samples);
        with_context(1, |context| cql.critic.compute_targets(&ahead, &window, 0, &batch.reward, context.rng));
        cql.critic.targets().to_vec()
    };
    let mean = |values: Vec<f32>| values.iter().sum::<f32>() / values.len() as f32;
    let (one, many) = (mean(targets(1)), mean(targets(20)));
    assert!(many > one + 0.1, "{one} {many}");
}

#[test]
fn what_is_logged_is_what_the_critics_say_of_recorded_and_of_own_actions() {
    let batch = rows(6);
    let mut sac_n = learner(AcConfig { n_critics: 3, ..presets::sac_n() }, vector());
    let mean_of = |learner: &mut AcLearner, action: &[f32]| {
        let seen = learner.encoder.infer(batch.obs()).into_owned();
        learner.critic.all_values(&seen, action, 6).iter().sum::<f32>() / 18.0
    };
    let recorded: Vec<f32> = batch.action.iter().map(|a| a.clamp(-1.0 + 1e-5, 1.0 - 1e-5)).collect();
    let wanted = f64::from(mean_of(&mut sac_n, &recorded));
    let mut td3 = learner(AcConfig { policy_delay: 1, n_critics: 1, ..presets::td3_bc() }, vector());
    let mut own = vec![0.0; 12];
    let (mut memory, mut rng) = (Memory::new(6, 0), stream(1, "act"));
    td3.act(ActInput::of(batch.obs()), ActContext::new(&mut memory, Mode::Best, &mut rng), &mut own).unwrap();
    let found = metrics(&mut sac_n, &batch, 1);
    assert!((found["q_data_mean"] - wanted).abs() < 1e-6, "{found:?}");
    assert_eq!(found["q_data_mean"], found["q_value_mean"]);
    // The actor of TD3 asks its critics after their step.
    let seen = td3.encoder.infer(batch.obs()).into_owned();
    let found = metrics(&mut td3, &batch, 1);
    let wanted = td3.critic.all_values(&seen, &own, 6).iter().sum::<f32>() / 6.0;
    assert!((found["q_policy_mean"] - f64::from(wanted)).abs() < 1e-6, "{found:?} {wanted}");
    // The mean of the absolute errors.
    let (errors, td_error) = {
        let mut td3 = learner(presets::td3_bc(), vector());
        let errors = update(&mut td3, &batch, 1);
        (errors, metrics(&mut learner(presets::td3_bc(), vector()), &batch, 1)["td_error"])
    };
    let mean = errors.iter().sum::<f32>() / 6.0;
    assert!((td_error - f64::from(mean)).abs() < 1e-6, "{td_error} {mean}");
    // Runs without recorded transitions do not have them.
    assert!(!metrics(&mut learner(presets::sac(), vector()), &batch, 1).contains_key("td_error"));
}

#[test]
fn diverse_critics_agree_less_and_spread_more_where_nothing_was_recorded() {
    let batch = rows(64);
    let trained = |diversity_coef| {
        let config = AcConfig {
            diversity_coef,
            n_critics: 5,
            learning_rate: Schedule::Constant(3e-3),
            hidden_sizes: vec![16, 16],
            ..presets::edac()
        };
        let mut edac = AcLearner::new(config, &setup(vector())).unwrap();
        (1..=150).for_each(|number| drop(update(&mut edac, &batch, number)));
        let agreement = metrics(&mut edac, &batch, 151)["diversity"];
        let mut rng = stream(3, "random");
        let actions: Vec<f32> = (0..128).map(|_| rng.random_range(-1.0..1.0)).collect();
        let seen = edac.encoder.infer(batch.obs()).into_owned();
        let all = edac.critic.all_values(&seen, &actions, 64);
        let spread = (0..64).map(|row| {
            let values: Vec<f32> = (0..5).map(|member| all[member * 64 + row]).collect();
            let mean = values.iter().sum::<f32>() / 5.0;
            (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / 5.0).sqrt()
        });
        (agreement, spread.sum::<f32>() / 64.0)
    };
    // So small a weight does nothing but log.
    let (agreeing, narrow) = trained(1e-9);
    let (apart, wide) = trained(1.0);
    assert!(apart < agreeing - 0.5, "{apart} {agreeing}");
    // By how much depends on how long both have learned from these few rows.
    assert!(wide > 1.03 * narrow, "{wide} {narrow}");
}

#[test]
fn with_one_number_to_an_action_diversity_changes_nothing() {
    let one = Setup { seed: 3, ..Setup::new(Spaces::new(vector(), Space::Box(BoxSpace::uniform(1, -1.0, 1.0)))) };
    let mut batch = super::batch(&vector(), 1, 6);
    batch.action.truncate(6);
    let trained = |diversity_coef| {
        let mut edac = AcLearner::new(small(AcConfig { diversity_coef, ..presets::edac() }), &one).unwrap();
        update(&mut edac, &batch, 1);
        tensors(&mut edac)
    };
    let (with, without) = (trained(1.0), trained(0.0));
    for (name, values) in &with {
        let far = values.iter().zip(&without[name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-5, "{name}: {far}");
    }
}
