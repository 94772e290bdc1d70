//! What each method makes of data that nobody good recorded.

use super::*;
use crate::policy::Memory;
use crate::registry::Algorithm;
use axiomrl_envs::ObsRef;

/// Uniformly random actions, one step each, in which 0.5 is best: reward -(a - 0.5)^2. With choices, 1 is best.
fn one_step(spaces: &Spaces) -> Dataset {
    let (mut builder, mut rng) = (DatasetBuilder::new(spaces.clone()).unwrap(), stream(4, "data"));
    for _ in 0..400 {
        let (action, reward) = match &spaces.action {
            Space::Discrete { n } => {
                let action = rng.random_range(0..*n) as f32;
                (action, if action == 1.0 { 1.0 } else { -1.0 })
            }
            _ => {
                let action: f32 = rng.random_range(-1.0..1.0);
                (action, -(action - 0.5).powi(2))
            }
        };
        let episode = Episode {
            obs: ObsRef::of_floats(2, &[0.3, 0.3]),
            masks: &[],
            action: &[action],
            reward: &[reward],
            terminated: &[true],
            truncated: &[false],
        };
        builder.push(&episode).unwrap();
    }
    builder.build().unwrap()
}

/// The best action after learning from one step episodes.
fn learned(config: RegressionConfig, actions: Space) -> f32 {
    let spaces = Spaces::new(Space::Box(BoxSpace::uniform(1, -1.0, 1.0)), actions);
    let setup = Setup { prior: Some(one_step(&spaces)), total: 1200, seed: 1, ..Setup::new(spaces) };
    let config = RegressionConfig {
        hidden_sizes: vec![32],
        batch_size: 64,
        learning_rate: axiomrl_core::Schedule::Constant(3e-3),
        actor_learning_rate: None,
        value_updates: 100,
        actor_updates: 200,
        ..config
    };
    let build = crate::offline::regression::WeightedRegression::build(config, &setup).unwrap();
    let mut agent = build.into_agent(&setup).unwrap();
    for updates in 0..1200 {
        let clock = Clock { updates, at: updates, total: 1200, env_steps: 0 };
        agent.update(clock, &mut Metrics::default()).unwrap();
    }
    let mut action = [9.0];
    let (mut memory, mut rng) = (Memory::new(1, 0), stream(1, "act"));
    let input = ActInput::of(ObsRef::of_floats(1, &[0.3]));
    agent.policy().act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut action).unwrap();
    action[0]
}

#[test]
fn the_better_half_of_random_actions_is_found_and_cloning_finds_their_mean() {
    let one = || Space::Box(BoxSpace::uniform(1, -1.0, 1.0));
    for (preset, beta) in [
        (presets::iql(), 8.0),
        (presets::xql(), 8.0),
        (presets::awac(), 8.0),
        (presets::crr(), 8.0),
        (presets::marwil(), 4.0),
        (presets::awr(), 4.0),
    ] {
        let found = learned(RegressionConfig { beta, ..preset.clone() }, one());
        assert!((found - 0.5).abs() < 0.15, "{:?} {:?}: {found}", preset.advantage, preset.weight);
    }
    let found = learned(presets::bc(), one());
    assert!(found.abs() < 0.1, "cloning: {found}");
}

#[test]
fn the_better_choice_is_preferred() {
    for preset in [presets::iql(), presets::marwil(), presets::awr()] {
        assert_eq!(learned(preset, Space::Discrete { n: 2 }), 1.0);
    }
}
