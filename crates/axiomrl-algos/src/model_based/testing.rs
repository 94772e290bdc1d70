//! Stores of a pendulum, for tests.

use axiomrl_core::random::uniform;
use axiomrl_core::{Ring, RingSpec, Rng, stream};
use axiomrl_envs::{FrameSpec, ObsRef, ObsWidths};

pub fn store(capacity: usize) -> Ring {
    Ring::new(RingSpec {
        capacity,
        lanes: 1,
        widths: ObsWidths { floats: 3, bytes: 0 },
        byte_frames: FrameSpec::SINGLE,
        action_width: 1,
        mask_width: 0,
    })
}

fn shown([angle, speed]: [f32; 2]) -> [f32; 3] {
    [angle.cos(), angle.sin(), speed]
}

/// One step of the pendulum by its published equations, with an action in [−1, 1].
fn step([angle, speed]: [f32; 2], action: f32) -> ([f32; 2], f32) {
    let (wrapped, torque) = (angle.sin().atan2(angle.cos()), 2.0 * action);
    let cost = wrapped * wrapped + 0.1 * speed * speed + 0.001 * torque * torque;
    let speed = (speed + 0.05 * (15.0 * angle.sin() + 3.0 * torque)).clamp(-8.0, 8.0);
    ([angle + 0.05 * speed, speed], -cost)
}

/// Adds steps from a state, with actions that `choose` makes of random numbers; an episode is cut off after 50.
pub fn swing(ring: &mut Ring, from: [f32; 2], steps: usize, choose: impl Fn(&mut Rng) -> f32) {
    let mut rng = stream(11, &format!("swing/{}", ring.len()));
    let mut state = from;
    for t in 0..steps {
        if t % 50 == 0 {
            state = [from[0] + 6.0 * uniform(&mut rng) as f32, from[1]];
            ring.begin(0, ObsRef::of_floats(1, &shown(state)), &[]);
        }
        let action = choose(&mut rng);
        let (next, reward) = step(state, action);
        let next_obs = shown(next);
        let next_obs = ObsRef::of_floats(1, &next_obs);
        ring.push(0, &[action], reward, false, false, next_obs, &[], next_obs, &[]);
        state = next;
    }
}

/// Random actions from rest.
pub fn random(steps: usize) -> Ring {
    let mut ring = store(10_000);
    swing(&mut ring, [0.0, 0.0], steps, |rng| 2.0 * uniform(rng) as f32 - 1.0);
    ring
}
