use super::*;
use crate::agent::Agent;
use crate::parts::torso::MemoryKind;
use crate::policy_gradient::curiosity::testing::{choice, setup};
use crate::policy_gradient::testing::{self, Noise, vector, vector_and_image};
use crate::policy_gradient::{A2c, A2cConfig, FeatureGradient, Ppo, PpoConfig};
use crate::regimes::Learner;
use crate::registry::Algorithm;
use crate::testing::{drive, with_context};
use axiomrl_core::Schedule;
use axiomrl_envs::Space;

fn curious(curiosity: CuriosityKind) -> PpoConfig {
    PpoConfig {
        curiosity,
        num_steps: 4,
        hidden_sizes: vec![8],
        update_epochs: 2,
        minibatch_size: 3,
        learning_rate: Schedule::Constant(1e-3),
        ..PpoConfig::default()
    }
}

fn learner(config: PpoConfig, setup: &Setup) -> Box<dyn RolloutLearner> {
    match Ppo::build(config, setup).unwrap() {
        Learner::OnPolicy(learner, _) => learner,
        _ => unreachable!("PPO learns from rollouts"),
    }
}

/// Pays and learns until nothing is left but the policy's part. Gives the number of units.
fn reward(learner: &mut dyn RolloutLearner, noise: &mut Noise) -> usize {
    let (mut units, starts) = (0, noise.starts.clone());
    loop {
        units += 1;
        let unrewarded = Unrewarded { rollout: &mut noise.rollout, starts: &starts, statistics: None };
        if with_context(|context| learner.compute_rewards(unrewarded, context)).unwrap() {
            return units;
        }
    }
}

/// What paying changes, and what the policy's update does.
fn changed(config: PpoConfig, observation: Space) -> [String; 2] {
    let setup = setup(observation, choice());
    let mut learner = learner(config, &setup);
    let mut noise = Noise::new(learner.as_mut(), &setup, 1);
    let mut changed = |work: &mut dyn FnMut(&mut dyn RolloutLearner)| {
        let before = testing::tensors(learner.as_mut());
        work(learner.as_mut());
        let after = testing::tensors(learner.as_mut());
        testing::unique(before.iter().filter(|(name, values)| after[*name] != **values).map(|(name, _)| name))
    };
    let by_paying = changed(&mut |learner| {
        reward(learner, &mut noise);
    });
    noise.rollout.compute_gae(0.9, 0.9);
    noise.rollout.add_intrinsic(0.9, 0.9, [2.0, 1.0]);
    [by_paying, changed(&mut |learner| drop(testing::update(learner, &noise)))]
}

#[test]
fn the_bonus_learns_before_the_policy_and_neither_moves_the_other() {
    let [paying, updating] = changed(curious(CuriosityKind::Rnd), vector());
    assert_eq!((&paying[..], &updating[..]), ("curiosity.predictor", "policy value"));
    let [paying, updating] = changed(curious(CuriosityKind::Rnd), vector_and_image());
    assert_eq!(paying, "curiosity.predictor");
    assert_eq!(updating, "policy.head policy.vision value.head value.vision");
    let [paying, updating] = changed(curious(CuriosityKind::Icm), vector());
    let model = "curiosity.features curiosity.forward curiosity.inverse";
    assert_eq!((&paying[..], &updating[..]), (model, "policy value"));
    let frozen = Schedule::Constant(0.0);
    let [paying, _] = changed(PpoConfig { curiosity_learning_rate: frozen, ..curious(CuriosityKind::Rnd) }, vector());
    assert_eq!(paying, "");
}

#[test]
fn the_forward_loss_does_not_move_the_features() {
    let alone =
        |feature_gradient| PpoConfig { feature_gradient, forward_loss_coef: 1.0, ..curious(CuriosityKind::Icm) };
    assert_eq!(changed(alone(FeatureGradient::Inverse), vector())[0], "curiosity.forward");
    assert_eq!(changed(alone(FeatureGradient::Both), vector())[0], "curiosity.features curiosity.forward");
}

/// A bonus that says how many steps it has learned, and counts.
struct Counting(f32);

impl Bonus for Counting {
    fn of(&self, steps: &Steps) -> Vec<f32> {
        // The first number of what each step led to, so that scales show, too.
        (0..steps.len()).map(|row| self.0 + steps.next_obs.row(row).floats[0]).collect()
    }

    fn learn(&mut self, _: &Steps, _: f32, _: &mut UpdateContext<'_>) -> Result<(), crate::agent::Diverged> {
        self.0 += 100.0;
        Ok(())
    }

    fn visit_state(&mut self, _: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn counting(config: &PpoConfig, setup: &Setup) -> Curious {
    use crate::policy_gradient::curiosity::curiosity_settings;
    let settings = curiosity_settings!(config, config.update_epochs, config.minibatch_size);
    let inner = learner(PpoConfig { curiosity: CuriosityKind::None, ..config.clone() }, setup);
    Curious::new(inner, Box::new(Counting(1000.0)), settings, setup)
}

#[test]
fn steps_are_paid_by_networks_and_statistics_of_before_the_rollout() {
    let setup = setup(vector(), choice());
    let config = PpoConfig { two_streams: false, intrinsic_coef: 0.5, ..curious(CuriosityKind::Rnd) };
    let mut learner = counting(&config, &setup);
    learner.watch(ObsRef::of_floats(2, &[-4.0, 0.0, 0.0, 4.0, 0.0, 0.0]));
    let mut noise = Noise::new(&mut learner, &setup, 1);
    let environment = noise.rollout.reward.clone();
    // Eight rows in minibatches of three, twice; then one unit without a step.
    assert_eq!(reward(&mut learner, &mut noise), 7);
    let raw = noise.rollout.raw.as_ref().unwrap();
    for row in 0..8 {
        // Mean 0 and deviation 4, as watched.
        let wanted = environment[row] + 0.5 * (1000.0 + raw.next_obs.row(row).floats[0] / 4.0);
        assert!((noise.rollout.reward[row] - wanted).abs() < 1e-3, "{} {wanted}", noise.rollout.reward[row]);
    }
    assert_eq!(learner.statistics.as_ref().unwrap().running().count(), 2 + 8, "then the rollout is counted");
}

#[test]
fn bonuses_of_a_stream_of_their_own_are_scaled_and_rewards_stay() {
    let setup = setup(vector(), choice());
    let mut learner = counting(&curious(CuriosityKind::Rnd), &setup);
    // The inner policy of a test has one value: the second is filled here.
    let widths = setup.spaces.obs().widths;
    let spec = axiomrl_core::RolloutSpec {
        steps: 1,
        lanes: 2,
        widths,
        action_width: 1,
        mask_width: 0,
        raw: true,
        intrinsic: true,
    };
    let mut rollout = Rollout::new(spec);
    rollout.begin_row(0, ObsRef::of_floats(2, &[0.0; 6]), &[], &[0.0; 2], &[0.0; 2], &[0.0; 4]);
    rollout.set_outcome(0, 0, 7.0, false, false);
    rollout.leave_out(0, 1);
    let mut noise = Noise { rollout, starts: vec![true; 2], states: Vec::new(), length: 1 };
    reward(&mut learner, &mut noise);
    assert_eq!(noise.rollout.reward, [7.0, 0.0]);
    let own = noise.rollout.intrinsic.as_ref().unwrap();
    assert_eq!(own.reward, [learner.scale.scaled(1000.0), 0.0], "what was left out is not paid");
}

#[test]
fn permuted_bonuses_are_the_same_at_other_steps() {
    let setup = setup(vector(), choice());
    let paid = |permute_bonus| {
        let config = PpoConfig { two_streams: false, permute_bonus, ..curious(CuriosityKind::Rnd) };
        let mut learner = learner(config, &setup);
        let mut noise = Noise::new(learner.as_mut(), &setup, 1);
        noise.rollout.reward.fill(0.0);
        reward(learner.as_mut(), &mut noise);
        noise.rollout.reward
    };
    let (mut own, mut permuted) = (paid(false), paid(true));
    assert_ne!(own, permuted);
    own.sort_by(f32::total_cmp);
    permuted.sort_by(f32::total_cmp);
    assert_eq!(own, permuted);
}

#[test]
fn of_many_environments_a_part_of_the_rows_is_learned_from() {
    let share = |config: PpoConfig, num_envs| {
        let setup = Setup { num_envs, ..setup(vector(), choice()) };
        counting(&config, &setup).share
    };
    assert_eq!(share(curious(CuriosityKind::Rnd), 8), 1.0);
    assert_eq!(share(curious(CuriosityKind::Rnd), 128), 0.25);
    assert_eq!(share(curious(CuriosityKind::Icm), 128), 1.0);
    assert_eq!(share(PpoConfig { predictor_share: Some(0.5), ..curious(CuriosityKind::Rnd) }, 8), 0.5);
}

/// Nothing but what was saved goes from one piece to the next, warm-up and half rounds included.
#[test]
fn stopping_anywhere_changes_nothing() {
    let rnd = || PpoConfig { warm_up_steps: 10, predictor_share: Some(0.7), ..curious(CuriosityKind::Rnd) };
    let icm = || PpoConfig { warm_up_steps: 5, ..curious(CuriosityKind::Icm) };
    let remembering = PpoConfig { memory: MemoryKind::Lstm, recurrent_hidden_size: 8, sequence_length: 2, ..rnd() };
    let one = PpoConfig { two_streams: false, ..icm() };
    for (env, config) in
        [("CartPole-v1", rnd()), ("Pendulum-v1", icm()), ("CartPoleNoVel-v1", remembering), ("Catch-v0", one)]
    {
        let run = |stopping| {
            drive(env, 3, 60, stopping, |setup| {
                Ppo::build(config.clone(), &setup).unwrap().into_agent(&setup).unwrap() as Box<dyn Agent>
            })
        };
        assert_eq!(run(true), run(false), "{env}");
    }
    let a2c = A2cConfig { curiosity: CuriosityKind::Icm, num_steps: 4, hidden_sizes: vec![8], ..A2cConfig::default() };
    let run = |stopping| {
        drive("CartPole-v1", 3, 60, stopping, |setup| {
            A2c::build(a2c.clone(), &setup).unwrap().into_agent(&setup).unwrap()
        })
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn random_steps_count_and_the_policy_learns_nothing_from_them() {
    let run = |total, warm_up_steps| {
        let config = PpoConfig { warm_up_steps, ..curious(CuriosityKind::Rnd) };
        drive("CartPole-v1", 3, total, false, |setup| {
            Ppo::build(config.clone(), &setup).unwrap().into_agent(&setup).unwrap()
        })
    };
    let (warm, none) = (run(60, 60), run(0, 0));
    assert_eq!(warm.policy(), none.policy());
    assert_eq!(warm.value("curiosity.observation_statistics")["count"], 60);
    // Rounds are whole: 59 steps of 3 environments are 20 rounds.
    assert_eq!(run(60, 59).value("curiosity.observation_statistics")["count"], 60);
    assert_ne!(run(72, 60).policy(), none.policy(), "a rollout of 12 steps later it has learned");
}

#[test]
fn a_bonus_that_is_no_number_is_named() {
    let setup = setup(vector(), choice());
    let mut learner = learner(curious(CuriosityKind::Icm), &setup);
    let mut noise = Noise::new(learner.as_mut(), &setup, 1);
    noise.rollout.raw.as_mut().unwrap().next_obs.floats[0] = f32::NAN;
    let unrewarded = Unrewarded { rollout: &mut noise.rollout, starts: &noise.starts, statistics: None };
    let error = with_context(|context| learner.compute_rewards(unrewarded, context)).unwrap_err().to_string();
    assert!(error.contains("the bonus of curiosity became NaN"), "{error}");
}
