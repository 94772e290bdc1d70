//! CartPolePixels-v0: CartPole-v1 seen as an image. No speed is to be seen in one frame: stack a few, or remember.

use super::CartPole;
use super::cartpole::MAX_X;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step};

/// The cart's half width, half height and row, and the pole's half width and length, as shares of the image's side.
const CART: (f32, f32, f32) = (0.1, 0.05, 0.85);
const POLE: (f32, f32) = (0.035, 0.7);
/// What cart and pole look like in colour, on white; in grey the pole is white and the cart grey, on black.
const CART_COLOR: [f32; 3] = [40.0, 40.0, 46.0];
const POLE_COLOR: [f32; 3] = [202.0, 152.0, 101.0];
const CART_GREY: f32 = 128.0;

/// Cart and pole in a square image, grey (one channel) or in colour (three).
pub struct CartPolePixels {
    cartpole: CartPole,
    observation: Space,
    size: usize,
    color: bool,
}

impl CartPolePixels {
    pub fn new(cartpole: CartPole, size: usize, color: bool) -> Self {
        let channels = if color { 3 } else { 1 };
        let observation = Space::Box(BoxSpace::image(size, size, channels));
        Self { cartpole, observation, size, color }
    }
}

/// How much of a pixel lies within `half` of a line that is `distance` off. An edge is one pixel wide, so that the image
/// moves smoothly with what it shows.
fn covered(half: f32, distance: f32) -> f32 {
    (half - distance + 0.5).clamp(0.0, 1.0)
}

impl Env for CartPolePixels {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        self.cartpole.action_space()
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.cartpole.reset(rng)
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        self.cartpole.step(action, rng)
    }

    fn observe(&self, out: ObsMut<'_>) {
        let size = self.size as f32;
        let (position, angle) = self.cartpole.visible();
        // The track's ends are the image's; rows go down, a positive angle leans to the right.
        let axle = (0.5 * (size - 1.0) * (1.0 + (position / MAX_X) as f32), CART.2 * size);
        let (dx, dy) = ((angle as f32).sin(), -(angle as f32).cos());
        let channels = if self.color { 3 } else { 1 };
        for (at, pixel) in out.bytes.chunks_exact_mut(channels).enumerate() {
            let (x, y) = ((at % self.size) as f32 - axle.0, (at / self.size) as f32 - axle.1);
            let cart = covered(CART.0 * size, x.abs()) * covered(CART.1 * size, y.abs());
            let along = (x * dx + y * dy).clamp(0.0, POLE.1 * size);
            let pole = covered(POLE.0 * size, (x - along * dx).hypot(y - along * dy));
            // The pole is in front of the cart.
            let paint = |ground: f32, cart_tone: f32, pole_tone: f32| {
                let behind = ground + cart * (cart_tone - ground);
                (behind + pole * (pole_tone - behind)) as u8
            };
            if self.color {
                for (byte, (cart_tone, pole_tone)) in pixel.iter_mut().zip(CART_COLOR.into_iter().zip(POLE_COLOR)) {
                    *byte = paint(255.0, cart_tone, pole_tone);
                }
            } else {
                pixel[0] = paint(0.0, CART_GREY, 255.0);
            }
        }
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        self.cartpole.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.cartpole.restore(snapshot)
    }

    fn render(&self) -> Option<Frame> {
        self.cartpole.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(position: f64, angle: f64, size: usize, color: bool) -> Vec<u8> {
        let mut env = CartPolePixels::new(CartPole::new(false), size, color);
        let state = serde_json::json!({ "state": [position, 0.0, angle, 0.0] });
        env.restore(&crate::snapshot::to_bytes(&state)).unwrap();
        let mut image = vec![0; env.observation.width()];
        env.observe(ObsMut::of_bytes(&mut image));
        image
    }

    #[test]
    fn the_cart_is_where_it_stands_and_the_pole_leans_where_it_falls() {
        let lit = |image: &[u8], row: usize, column: usize| image[row * 64 + column] > 100;
        let upright = image(0.0, 0.0, 64, false);
        assert!(lit(&upright, 54, 32) && lit(&upright, 14, 32) && !lit(&upright, 54, 10));
        let right = image(1.2, 0.0, 64, false);
        assert!(lit(&right, 54, 47) && lit(&right, 14, 47) && !lit(&right, 54, 32));
        let leaning = image(0.0, 0.2, 64, false);
        assert!(lit(&leaning, 54, 32) && lit(&leaning, 14, 40) && !lit(&leaning, 14, 32));
        let color = image(0.0, 0.0, 16, true);
        assert_eq!((color.len(), &color[..3]), (16 * 16 * 3, &[255; 3][..]));
    }

    #[test]
    fn a_small_lean_is_a_small_change() {
        for size in [16, 32, 64] {
            let (a, b) = (image(0.0, 0.01, size, false), image(0.0, 0.02, size, false));
            let change = a.iter().zip(&b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>();
            assert!(change > 0 && change < size as u32 * 255, "{size}: {change}");
        }
    }
}
