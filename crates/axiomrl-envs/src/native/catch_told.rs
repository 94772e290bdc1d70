//! CatchTold-v0: two balls fall, and a number beside the image says which of them counts. Looking is not enough, and neither is
//! listening.

use super::choice;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Side of a cell in the picture.
const CELL: usize = 32;

/// Two balls fall one row a step from two random columns; the paddle in the bottom row starts in the middle and goes left,
/// stays or goes right. When they are down: reward 1 if the paddle is under the one that counts, otherwise −1, and the episode
/// ends.
///
/// The observation has two parts. `board` is a grey image of one pixel per cell, both balls and the paddle white; `told` is one
/// number, −1 if the left ball counts and 1 if the right one does. On the usual five columns chance earns about −0.6, whoever
/// is deaf 0 at best and whoever is blind −0.2.
pub struct CatchTold {
    observation: Space,
    action: Space,
    rows: usize,
    columns: usize,
    hidden: Option<Hidden>,
    game: Game,
}

/// The part of the observation that is kept back: always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    Board,
    Told,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Game {
    /// How far the balls have fallen.
    row: usize,
    /// Their columns, left before right.
    balls: [usize; 2],
    /// Which of them counts.
    wanted: usize,
    /// Column of the paddle.
    paddle: usize,
}

impl CatchTold {
    pub fn new(rows: usize, columns: usize, hidden: Option<Hidden>) -> Self {
        let entries = vec![
            ("board".into(), Space::Box(BoxSpace::image(rows, columns, 1))),
            ("told".into(), Space::Box(BoxSpace::uniform(1, -1.0, 1.0))),
        ];
        let game = Game { balls: [0, 1], ..Game::default() };
        Self { observation: Space::Dict { entries }, action: Space::Discrete { n: 3 }, rows, columns, hidden, game }
    }

    /// The cells of both balls, then that of the paddle.
    fn lit(&self) -> [usize; 3] {
        let Game { row, balls: [left, right], paddle, .. } = self.game;
        [row * self.columns + left, row * self.columns + right, (self.rows - 1) * self.columns + paddle]
    }
}

impl Env for CatchTold {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        let one = rng.random_range(0..self.columns);
        // Any column but that one.
        let other = (one + rng.random_range(1..self.columns)) % self.columns;
        let balls = [one.min(other), one.max(other)];
        self.game = Game { row: 0, balls, wanted: rng.random_range(0..2), paddle: self.columns / 2 };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let game = &mut self.game;
        game.paddle = (game.paddle + choice(action)).clamp(1, self.columns) - 1;
        game.row += 1;
        if game.row + 1 < self.rows {
            return Ok(Step::default());
        }
        let caught = game.paddle == game.balls[game.wanted];
        Ok(Step { reward: if caught { 1.0 } else { -1.0 }, terminated: true, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.bytes.fill(0);
        if self.hidden != Some(Hidden::Board) {
            self.lit().iter().for_each(|&pixel| out.bytes[pixel] = 255);
        }
        let told = if self.hidden == Some(Hidden::Told) { 0.0 } else { 2.0 * self.game.wanted as f32 - 1.0 };
        out.write(&[told]);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.game))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let game: Game = snapshot::from_bytes("CatchTold", snapshot)?;
        let [left, right] = game.balls;
        if game.row >= self.rows || left >= right || right.max(game.paddle) >= self.columns || game.wanted > 1 {
            let problem = format!("it is of a board other than {} by {}", self.rows, self.columns);
            return Err(EnvError::bad_snapshot("CatchTold", problem));
        }
        self.game = game;
        Ok(())
    }

    /// The ball that counts is green: whoever watches need not be told.
    fn render(&self) -> Option<Frame> {
        const DARK: [u8; 3] = [24; 3];
        const WHITE: [u8; 3] = [255; 3];
        const GREEN: [u8; 3] = [64, 192, 96];
        let (width, height) = (self.columns * CELL, self.rows * CELL);
        let lit = self.lit();
        let colour = |pixel: usize| {
            let cell = pixel / width / CELL * self.columns + pixel % width / CELL;
            match lit.contains(&cell) {
                true if cell == lit[self.game.wanted] => GREEN,
                true => WHITE,
                false => DARK,
            }
        };
        Some(Frame { width, height, rgb: (0..width * height).flat_map(colour).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// What a policy can see: the board and what it is told.
    fn seen(env: &CatchTold) -> (Vec<u8>, f32) {
        let (mut board, mut told) = (vec![7; env.rows * env.columns], [9.0]);
        env.observe(ObsMut { floats: &mut told, bytes: &mut board });
        (board, told[0])
    }

    /// The mean return of many episodes of five columns; the policy names the column it wants to be in.
    fn mean(hidden: Option<Hidden>, mut aim: impl FnMut(&[u8], f32, &mut Rng) -> usize) -> f64 {
        let (mut env, mut rng, mut chance) = (CatchTold::new(10, 5, hidden), stream(3, "env"), stream(4, "chance"));
        let mut sum = 0.0;
        for _ in 0..2000 {
            env.reset(&mut rng).unwrap();
            let (board, told) = seen(&env);
            let column = aim(&board, told, &mut chance);
            for length in 1.. {
                let action = (1 + column).saturating_sub(env.game.paddle).min(2);
                let step = env.step(&[action as f32], &mut rng).unwrap();
                sum += step.reward;
                assert_eq!(step.terminated, length == 9);
                assert!(step.terminated || step.reward == 0.0);
                if step.terminated {
                    break;
                }
            }
        }
        sum / 2000.0
    }

    /// The columns of both balls in the first picture.
    fn balls(board: &[u8]) -> Vec<usize> {
        (0..5).filter(|&column| board[column] == 255).collect()
    }

    #[test]
    fn who_looks_and_listens_always_wins() {
        assert_eq!(mean(None, |board, told, _| balls(board)[usize::from(told > 0.0)]), 1.0);
    }

    #[test]
    fn one_part_alone_is_not_enough_and_chance_is_worse() {
        let deaf = mean(Some(Hidden::Told), |board, told, chance| {
            assert_eq!(told, 0.0);
            balls(board)[chance.random_range(0..2)]
        });
        assert!(deaf.abs() < 0.06, "{deaf}");
        // The left of two balls is in column 0 in 4 of 10 cases, in no other more often.
        let blind = mean(Some(Hidden::Board), |board, told, _| {
            assert!(board.iter().all(|&pixel| pixel == 0));
            if told > 0.0 { 4 } else { 0 }
        });
        assert!((blind + 0.2).abs() < 0.06, "{blind}");
        let chance = mean(None, |_, _, chance| chance.random_range(0..5));
        assert!((chance + 0.6).abs() < 0.06, "{chance}");
    }

    #[test]
    fn the_parts_by_hand_and_pictures_show_which_ball_counts() {
        let mut env = CatchTold::new(3, 4, None);
        env.game = Game { row: 1, balls: [1, 3], wanted: 1, paddle: 0 };
        assert_eq!(seen(&env), (vec![0, 0, 0, 0, 0, 255, 0, 255, 255, 0, 0, 0], 1.0));
        let frame = env.render().unwrap();
        let cell = |row: usize, column: usize| frame.rgb[3 * (row * CELL * frame.width + column * CELL)];
        assert_eq!((cell(1, 1), cell(1, 3), cell(2, 0), cell(0, 0)), (255, 64, 255, 24));
    }

    #[test]
    fn a_snapshot_of_another_board_is_refused() {
        let mut env = CatchTold::new(3, 4, None);
        for game in [
            Game { row: 0, balls: [0, 4], wanted: 0, paddle: 0 },
            Game { row: 3, balls: [0, 1], wanted: 0, paddle: 0 },
            Game { row: 0, balls: [1, 1], wanted: 0, paddle: 0 },
            Game { row: 0, balls: [0, 1], wanted: 2, paddle: 0 },
        ] {
            let message = env.restore(&snapshot::to_bytes(&game)).unwrap_err().to_string();
            assert!(message.contains("3 by 4"), "{message}");
        }
    }
}
