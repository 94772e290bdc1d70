//! PendulumPixels-v0: Pendulum-v1 seen as an image. The speed is not to be seen in one frame: stack a few.

use super::Pendulum;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step};

/// Half the width of the rod, and its length, as shares of the image's side.
const HALF_WIDTH: f32 = 0.06;
const LENGTH: f32 = 0.4;
/// What the rod looks like in colour, on white; in grey it is white on black.
const ROD: [f32; 3] = [204.0, 77.0, 77.0];

/// The pendulum in a square image, grey (one channel) or in colour (three).
pub struct PendulumPixels {
    pendulum: Pendulum,
    observation: Space,
    size: usize,
    color: bool,
}

impl PendulumPixels {
    pub fn new(pendulum: Pendulum, size: usize, color: bool) -> Self {
        let channels = if color { 3 } else { 1 };
        let observation = Space::Box(BoxSpace::image(size, size, channels));
        Self { pendulum, observation, size, color }
    }
}

impl Env for PendulumPixels {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        self.pendulum.action_space()
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.pendulum.reset(rng)
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        self.pendulum.step(action, rng)
    }

    fn observe(&self, out: ObsMut<'_>) {
        let out = out.bytes;
        let (size, angle) = (self.size as f32, self.pendulum.angle() as f32);
        // The rod's direction in the image, whose rows go down: upright is (0, -1), a positive angle turns left.
        let (dx, dy) = (-angle.sin(), -angle.cos());
        let middle = 0.5 * (size - 1.0);
        let (length, half_width) = (LENGTH * size, HALF_WIDTH * size);
        let channels = if self.color { 3 } else { 1 };
        for (at, pixel) in out.chunks_exact_mut(channels).enumerate() {
            let (x, y) = ((at % self.size) as f32 - middle, (at / self.size) as f32 - middle);
            let along = (x * dx + y * dy).clamp(0.0, length);
            let distance = (x - along * dx).hypot(y - along * dy);
            // An edge one pixel wide: the image moves smoothly with the angle.
            let covered = (half_width - distance + 0.5).clamp(0.0, 1.0);
            if self.color {
                for (byte, rod) in pixel.iter_mut().zip(ROD) {
                    *byte = (255.0 + covered * (rod - 255.0)) as u8;
                }
            } else {
                pixel[0] = (255.0 * covered) as u8;
            }
        }
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        self.pendulum.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.pendulum.restore(snapshot)
    }

    fn render(&self) -> Option<Frame> {
        self.pendulum.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(angle: f64, size: usize, color: bool) -> Vec<u8> {
        let mut env = PendulumPixels::new(Pendulum::new(10.0), size, color);
        env.restore(&crate::snapshot::to_bytes(&serde_json::json!({ "state": [angle, 0.0] }))).unwrap();
        let mut image = vec![0; env.observation.width()];
        env.observe(ObsMut::of_bytes(&mut image));
        image
    }

    #[test]
    fn the_rod_points_where_the_pendulum_does() {
        let upright = image(0.0, 32, false);
        let lit = |image: &[u8], row: usize, column: usize| image[row * 32 + column] > 128;
        assert!(lit(&upright, 6, 15) && !lit(&upright, 25, 15));
        let left = image(std::f64::consts::FRAC_PI_2, 32, false);
        assert!(lit(&left, 15, 6) && !lit(&left, 15, 25) && !lit(&left, 6, 15));
        assert_eq!(image(0.0, 84, true).len(), 84 * 84 * 3);
        assert_eq!(image(0.0, 84, true)[..3], [255; 3]);
    }

    #[test]
    fn a_small_turn_is_a_small_change() {
        let (a, b) = (image(0.5, 32, false), image(0.52, 32, false));
        let change = a.iter().zip(&b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>();
        assert!(change > 0 && change < 32 * 255, "{change}");
    }
}
