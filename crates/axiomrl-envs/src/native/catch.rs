//! Catch-v0: move a paddle under a falling ball. The smallest task that is seen in pixels.

use super::choice;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Side of a cell in the picture.
const CELL: usize = 32;

/// A ball falls one row a step from a random column; the paddle in the bottom row starts in the middle and goes left, stays
/// or goes right. When the ball is down: reward 1 if the paddle is under it, otherwise −1, and the episode ends.
///
/// The observation is a grey image of one pixel per cell, ball and paddle white.
pub struct Catch {
    observation: Space,
    action: Space,
    rows: usize,
    columns: usize,
    game: Game,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Game {
    /// Row and column of the ball.
    ball: [usize; 2],
    /// Column of the paddle.
    paddle: usize,
}

impl Catch {
    pub fn new(rows: usize, columns: usize) -> Self {
        Self {
            observation: Space::Box(BoxSpace::image(rows, columns, 1)),
            action: Space::Discrete { n: 3 },
            rows,
            columns,
            game: Game::default(),
        }
    }

    /// The pixels that are white.
    fn lit(&self) -> [usize; 2] {
        let [row, column] = self.game.ball;
        [row * self.columns + column, (self.rows - 1) * self.columns + self.game.paddle]
    }
}

impl Env for Catch {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.game = Game { ball: [0, rng.random_range(0..self.columns)], paddle: self.columns / 2 };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let Game { ball: [row, column], paddle } = self.game;
        let paddle = (paddle + choice(action)).clamp(1, self.columns) - 1;
        self.game = Game { ball: [row + 1, column], paddle };
        if row + 2 < self.rows {
            return Ok(Step::default());
        }
        Ok(Step { reward: if paddle == column { 1.0 } else { -1.0 }, terminated: true, truncated: false })
    }

    fn observe(&self, out: ObsMut<'_>) {
        let out = out.bytes;
        out.fill(0);
        self.lit().iter().for_each(|&pixel| out[pixel] = 255);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.game))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let game: Game = snapshot::from_bytes("Catch", snapshot)?;
        if game.ball[0] >= self.rows || game.ball[1].max(game.paddle) >= self.columns {
            let problem = format!("it is of a board other than {} by {}", self.rows, self.columns);
            return Err(EnvError::bad_snapshot("Catch", problem));
        }
        self.game = game;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        let (width, height) = (self.columns * CELL, self.rows * CELL);
        let lit = self.lit();
        let cell = |pixel: usize| pixel / width / CELL * self.columns + pixel % width / CELL;
        let rgb =
            (0..width * height).flat_map(|pixel| [if lit.contains(&cell(pixel)) { 255 } else { 24 }; 3]).collect();
        Some(Frame { width, height, rgb })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// Plays an episode; the policy is given paddle and ball columns.
    fn play(env: &mut Catch, rng: &mut Rng, mut policy: impl FnMut(usize, usize) -> usize) -> (f64, usize) {
        env.reset(rng).unwrap();
        for length in 1.. {
            let action = policy(env.game.paddle, env.game.ball[1]);
            let step = env.step(&[action as f32], rng).unwrap();
            if step.terminated {
                return (step.reward, length);
            }
            assert_eq!(step.reward, 0.0);
        }
        unreachable!()
    }

    #[test]
    fn following_the_ball_always_catches_it() {
        let (mut env, mut rng) = (Catch::new(10, 5), stream(3, "catch"));
        let follow = |paddle: usize, ball: usize| (1 + ball).saturating_sub(paddle).min(2);
        for _ in 0..50 {
            assert_eq!(play(&mut env, &mut rng, follow), (1.0, 9));
        }
    }

    #[test]
    fn chance_catches_one_in_five() {
        let (mut env, mut rng) = (Catch::new(10, 5), stream(4, "catch"));
        let mut chance = stream(5, "chance");
        let mean =
            (0..4000).map(|_| play(&mut env, &mut rng, |_, _| chance.random_range(0..3)).0).sum::<f64>() / 4000.0;
        assert!((mean + 0.6).abs() < 0.05, "{mean}");
    }

    #[test]
    fn the_image_shows_ball_and_paddle() {
        let mut env = Catch::new(3, 4);
        env.game = Game { ball: [1, 3], paddle: 0 };
        let mut image = [7; 12];
        env.observe(ObsMut::of_bytes(&mut image));
        assert_eq!(image, [0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0]);
        assert!(env.restore(&snapshot::to_bytes(&serde_json::json!({"ball": [0, 4], "paddle": 0}))).is_err());
    }
}
