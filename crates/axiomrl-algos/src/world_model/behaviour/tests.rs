//! The way back through imagined steps, against finite differences; what actor and critic learn.

use super::*;
use crate::agent::Setup;
use crate::world_model::presets::dreamer;
use crate::world_model::{Heads, Returns};
use axiomrl_core::random::normal;
use axiomrl_core::stream;
use axiomrl_envs::{BoxSpace, ObsRef, Space, Spaces};

const LANES: usize = 2;
const HORIZON: usize = 3;

fn made(returns: Returns, gradient: bool) -> (WorldModel, Behaviour) {
    let config = WorldModelConfig {
        deter_size: Some(8),
        hidden_size: Some(8),
        latent_groups: Some(2),
        latent_classes: Some(2),
        latent_size: 4,
        conv_depth: Some(2),
        units: Some(8),
        imagination_horizon: HORIZON,
        slow_critic_targets: gradient,
        returns,
        ..dreamer()
    };
    assert_eq!(config.heads, Heads::Normal);
    let (observation, action) =
        (Space::Box(BoxSpace::uniform(3, -1.0, 1.0)), Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    let setup = Setup { seed: 3, ..Setup::new(Spaces::new(observation, action)) };
    let recipe = Recipe::new(&config, &setup).unwrap();
    let (law, mut rng) = (ActionLaw::new(setup.action_space(), true, 0.0), setup.rng("init"));
    let model = WorldModel::new(&config, &recipe, law.width(), &setup, &mut rng).unwrap();
    let behaviour = Behaviour::new(&config, &recipe, law, model.features(), &mut rng);
    (model, behaviour)
}

/// Everything that is drawn, so that it can be done again.
struct Drawn {
    start: Vec<f32>,
    actions: Vec<f32>,
    noise: Vec<f32>,
}

impl Drawn {
    fn new(model: &WorldModel) -> Self {
        let mut rng = stream(5, "drawn");
        let mut some = |count: usize| -> Vec<f32> { (0..count).map(|_| 0.5 * normal(&mut rng)).collect() };
        let noise = model.rssm.spec.latent.noise();
        Self {
            start: some(LANES * model.features()),
            actions: some(HORIZON * LANES * 2),
            noise: some(HORIZON * LANES * noise),
        }
    }

    fn step(&self, t: usize) -> (&[f32], &[f32]) {
        let (actions, noise) = (LANES * 2, self.noise.len() / HORIZON);
        (&self.actions[t * actions..(t + 1) * actions], &self.noise[t * noise..(t + 1) * noise])
    }

    fn judged(&self, model: &WorldModel, behaviour: &Behaviour) -> (Trajectories, Judged) {
        let mut states = model.rssm.imagine(&self.start, LANES);
        let mut features = self.start.clone();
        for t in 0..HORIZON {
            let (actions, noise) = self.step(t);
            states.step(actions, noise);
            features.extend_from_slice(states.features());
        }
        let trajectories = Trajectories { lanes: LANES, horizon: HORIZON, features, raw: Vec::new() };
        let value = behaviour.judge().means(&trajectories.features, trajectories.states());
        let judged = trajectories.judge(model, value, None, 0.99);
        (trajectories, judged)
    }
}

#[test]
fn slopes_of_returns_by_actions_are_those_of_finite_differences() {
    for (returns, slow) in [(Returns::Next, true), (Returns::Next, false), (Returns::Own, true)] {
        let (model, behaviour) = made(returns, slow);
        let drawn = Drawn::new(&model);
        let (trajectories, judged) = drawn.judged(&model, &behaviour);
        let rules = behaviour.rules;
        let returned = |judged: &Judged| judged.imagined(LANES).returns(rules.convention, rules.lambda);
        let weights = judged.imagined(LANES).weights(rules.convention, 1.0);
        let (rows, later) = behaviour.acted(LANES);
        let mut dream = model.rssm.dream(&drawn.start, LANES);
        for t in 0..HORIZON {
            let (actions, noise) = drawn.step(t);
            dream.step(actions, noise);
        }
        let by = behaviour.back_through_actions(&model, &trajectories, &judged, &returned(&judged), &weights, dream);
        // The weights of the states are no part of what is differentiated.
        let loss = |drawn: &Drawn| {
            let returns = returned(&drawn.judged(&model, &behaviour).1);
            let sum = returns[later..].iter().zip(&weights[..rows]).map(|(r, w)| f64::from(r * w)).sum::<f64>();
            -sum / rows as f64
        };
        assert_eq!(by.len(), drawn.actions.len());
        for at in 0..by.len() {
            let moved = |step: f32| {
                let mut actions = drawn.actions.clone();
                actions[at] += step;
                loss(&Drawn { start: drawn.start.clone(), actions, noise: drawn.noise.clone() })
            };
            let wanted = (moved(2e-2) - moved(-2e-2)) / 4e-2;
            assert!((f64::from(by[at]) - wanted).abs() < 2e-4 + 0.03 * wanted.abs(), "{at}: {} {wanted}", by[at]);
        }
        assert!(by.iter().any(|slope| slope.abs() > 1e-3), "{by:?}");
    }
}

fn imagined(model: &WorldModel, behaviour: &Behaviour, starts: &[f32]) -> Imagined {
    let (lanes, params) = (starts.len() / model.features(), behaviour.critic.online.net.params.tracked());
    behaviour.imagine(model, starts, &vec![false; lanes], params, &mut stream(6, "imagined"), &mut Metrics::default())
}

#[test]
fn an_advantage_is_what_the_critic_did_not_foresee() {
    let (model, mut behaviour) = made(Returns::Next, true);
    behaviour.rules.normalize = false;
    let imagined = imagined(&model, &behaviour, &Drawn::new(&model).start);
    let (mut metrics, params) = (Metrics::default(), behaviour.actor.net.params.tracked());
    behaviour.actor_loss(&imagined, params, &mut metrics);
    let surprises = imagined.returns.iter().zip(&imagined.value).map(|(r, v)| f64::from(r - v).powi(2));
    let wanted = (surprises.sum::<f64>() / imagined.returns.len() as f64).sqrt();
    let found = metrics.take().into_iter().find(|(name, _)| name == "advantage_deviation").unwrap().1;
    assert!((found - wanted).abs() < 1e-5 * wanted, "{found} {wanted}");
}

#[test]
fn the_slow_critic_holds_the_critic_by_its_scale() {
    let (model, mut behaviour) = made(Returns::Next, true);
    behaviour.critic.target.net.params.make_mut().iter_mut().for_each(|w| *w += 0.1);
    let imagined = imagined(&model, &behaviour, &Drawn::new(&model).start);
    let [none, one, two] = [0.0, 1.0, 2.0].map(|scale| {
        behaviour.rules.slow_scale = scale;
        behaviour.critic_loss(&imagined, &mut Metrics::default()).value
    });
    assert!(one - none > 1e-4 && ((two - one) - (one - none)).abs() < 1e-4 * two.abs(), "{none} {one} {two}");
}

#[test]
fn the_critic_learns_nothing_from_rows_in_which_an_episode_ended() {
    let (model, mut behaviour) = made(Returns::Next, true);
    behaviour.rules.replay_scale = 1.0;
    let starts = Drawn::new(&model).start.repeat(2);
    let imagined = imagined(&model, &behaviour, &starts);
    // Two windows of two rows; what is paid for arriving in the second row of the first one is in the return of its first row.
    let loss = |reward: f32, last: bool| {
        let sequence = Sequence {
            steps: 2,
            rows: 2,
            obs: ObsRef::of_floats(4, &[0.0; 12]),
            actions: Vec::new(),
            is_first: vec![false; 4],
            start: Vec::new(),
            reward: vec![0.0, 0.0, reward, 0.0],
            last: &[last, false, false, false],
            terminal: &[false; 4],
        };
        let (features, params) = (leaf(&starts, [4, model.features()]), behaviour.critic.online.net.params.tracked());
        behaviour.replay_critic_loss(&imagined, &sequence, features, params, &mut Metrics::default()).unwrap().value
    };
    assert_eq!(loss(0.0, true), loss(9.0, true));
    assert_ne!(loss(0.0, false), loss(9.0, false));
}
