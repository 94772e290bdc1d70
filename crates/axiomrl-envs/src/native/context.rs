//! Context-v0: choose what a random context calls for.
//!
//! A test of imitation. In most tasks the states that an expert visits say a good deal about what it does, so that even
//! demonstrations with shuffled actions teach something. Here the next context owes nothing to the action: the pairing of
//! contexts and actions is all there is to learn, and shuffled actions teach nothing.

use super::choice;
use crate::{BoxSpace, Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

const WIDTH: usize = 4;
const ACTIONS: usize = 4;

/// The observation is uniform in [−1, 1]⁴, drawn anew every step. Reward 1 for the action it calls for, else 0. The world
/// never ends: over 50 steps the best return is 50, and that of any rule blind to the context 12.5.
pub struct Context {
    observation: Space,
    action: Space,
    scene: Scene,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Scene {
    context: [f32; WIDTH],
}

impl Context {
    pub fn new() -> Self {
        Self {
            observation: Space::Box(BoxSpace::uniform(WIDTH, -1.0, 1.0)),
            action: Space::Discrete { n: ACTIONS },
            scene: Scene::default(),
        }
    }

    fn draw(&mut self, rng: &mut Rng) {
        self.scene.context = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

/// The action that `context` calls for: the quadrant of a point that depends on products of the context's numbers, so that
/// no linear rule finds it. Changing the signs of the numbers 0, 2 and 3 mirrors the point in one axis, of 1, 2 and 3 in the other: the
/// four actions are equally frequent.
pub(crate) fn right_action(context: &[f32]) -> usize {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| context[i]);
    let (u, v) = (a + 1.5 * b * c, b - 1.5 * a * d);
    2 * usize::from(u > 0.0) + usize::from(v > 0.0)
}

impl Env for Context {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.draw(rng);
        Ok(())
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let right = choice(action) == right_action(&self.scene.context);
        self.draw(rng);
        Ok(Step { reward: f64::from(u8::from(right)), terminated: false, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&self.scene.context);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.scene))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.scene = snapshot::from_bytes("Context", snapshot)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn hand_numbers_of_the_rule() {
        // u = .5 + 1.5·.4·(−1) = −.1, v = .4 − 1.5·.5·.2 = .25.
        assert_eq!(right_action(&[0.5, 0.4, -1.0, 0.2]), 1);
        // u = .5 + 1.5·.4·.1 = .56, v = .25.
        assert_eq!(right_action(&[0.5, 0.4, 0.1, 0.2]), 3);
        // v = .4 − 1.5·.5·.9 = −.275.
        assert_eq!(right_action(&[0.5, 0.4, 0.1, 0.9]), 2);
        assert_eq!(right_action(&[-0.5, -0.4, 0.1, 0.2]), 0);
    }

    #[test]
    fn right_actions_are_equally_frequent_and_linear_rules_miss_a_third_of_them() {
        let (mut env, mut rng) = (Context::new(), stream(1, "context"));
        let (mut counts, mut linear) = ([0usize; 4], 0);
        for _ in 0..20_000 {
            env.reset(&mut rng).unwrap();
            let context = env.scene.context;
            counts[right_action(&context)] += 1;
            let signs = 2 * usize::from(context[0] > 0.0) + usize::from(context[1] > 0.0);
            linear += usize::from(signs == right_action(&context));
        }
        assert!(counts.iter().all(|&n| (4700..5300).contains(&n)), "{counts:?}");
        assert!((8_000..14_000).contains(&linear), "the best linear rule is right {linear} times of 20000");
    }

    #[test]
    fn actions_are_paid_and_move_nothing() {
        let (mut a, mut b) = (Context::new(), Context::new());
        let (mut ours, mut theirs) = (stream(2, "context"), stream(2, "context"));
        a.reset(&mut ours).unwrap();
        b.reset(&mut theirs).unwrap();
        for _ in 0..100 {
            let right = right_action(&a.scene.context);
            assert_eq!(a.step(&[right as f32], &mut ours).unwrap().reward, 1.0);
            assert_eq!(b.step(&[((right + 1) % 4) as f32], &mut theirs).unwrap().reward, 0.0);
            assert_eq!(a.scene.context, b.scene.context);
        }
    }
}
