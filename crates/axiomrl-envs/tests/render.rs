//! Pictures: there is one, and it shows the state.

mod common;

use axiomrl_envs::{Env, Frame, make};
use common::{clocked, no_kwargs};
use serde_json::json;

fn picture(id: &str, state: &[f64]) -> Frame {
    let mut env = make(id, &no_kwargs()).unwrap();
    env.restore(&clocked(json!({ "state": state }))).unwrap();
    env.render().unwrap()
}

/// Mean column and row (from the top) of the pixels whose colour is exactly `colour`.
fn centre_of(frame: &Frame, colour: [u8; 3]) -> (f64, f64) {
    let hits: Vec<usize> = (0..frame.width * frame.height).filter(|&i| frame.rgb[3 * i..][..3] == colour).collect();
    assert!(hits.len() > 20, "only {} pixels are {colour:?}", hits.len());
    let mean = |of: fn(usize, usize) -> usize| {
        hits.iter().map(|&i| of(i, frame.width) as f64).sum::<f64>() / hits.len() as f64
    };
    (mean(|i, width| i % width), mean(|i, width| i / width))
}

#[test]
fn every_picture_has_all_its_pixels() {
    for (id, state) in [
        ("CartPole-v1", &[0.0; 4][..]),
        ("CartPoleFixedHorizon-v0", &[0.0; 4]),
        ("Acrobot-v1", &[0.0; 4]),
        ("Pendulum-v1", &[0.0; 2]),
        ("MountainCar-v0", &[-0.5, 0.0]),
        ("MountainCarContinuous-v0", &[-0.5, 0.0]),
    ] {
        let frame = picture(id, state);
        assert!(frame.width >= 400 && frame.height >= 400, "{id}");
        assert_eq!(frame.rgb.len(), 3 * frame.width * frame.height, "{id}");
        assert_eq!(frame.rgb[..3], [255; 3], "{id}: the corner is background");
    }
}

#[test]
fn things_move_where_the_state_says() {
    const WOOD: [u8; 3] = [202, 152, 101];
    let pole = |x, angle| centre_of(&picture("CartPole-v1", &[x, 0.0, angle, 0.0]), WOOD);
    let upright = pole(0.0, 0.0);
    assert!((upright.0 - 300.0).abs() < 2.0);
    assert!((pole(1.0, 0.0).0 - upright.0 - 125.0).abs() < 2.0, "a metre is an eighth of 4.8 metres of 600 pixels");
    assert!(pole(0.0, 0.2).0 > upright.0 + 5.0, "a positive angle leans right");

    const RED: [u8; 3] = [204, 77, 77];
    let rod = |angle| centre_of(&picture("Pendulum-v1", &[angle, 0.0]), RED);
    assert!(rod(0.0).1 < 200.0, "angle 0 points up");
    assert!(rod(std::f64::consts::PI).1 > 300.0);
    assert!(rod(1.0).0 < 230.0, "positive angles turn anticlockwise");

    const TEAL: [u8; 3] = [0, 160, 160];
    let arm = |a, b| centre_of(&picture("Acrobot-v1", &[a, b, 0.0, 0.0]), TEAL);
    assert!(arm(0.0, 0.0).1 > 300.0, "at rest it hangs");
    assert!(arm(std::f64::consts::PI, 0.0).1 < 200.0);
    assert!(arm(0.5, 0.0).0 > 270.0);

    const GREY: [u8; 3] = [150, 150, 156];
    let wheels = |x| centre_of(&picture("MountainCar-v0", &[x, 0.0]), GREY);
    let (valley, left, right) = (wheels(-0.52), wheels(-1.1), wheels(0.4));
    assert!(left.0 < valley.0 && valley.0 < right.0, "left to right");
    assert!(left.1 < valley.1 && right.1 < valley.1, "both sides are higher than the valley");
}

#[test]
fn the_mass_is_drawn_where_it_is() {
    const RED: [u8; 3] = [204, 77, 77];
    let mass = |x: f32, y: f32| {
        let mut env = make("PointMass-v0", &no_kwargs()).unwrap();
        env.restore(&clocked(json!({ "position": [x, y], "velocity": [0.0, 0.0], "force": [0.0, 1.0] }))).unwrap();
        centre_of(&env.render().unwrap(), RED)
    };
    // The room is 3 wide on 460 pixels, and up is up.
    let (x, y) = mass(0.75, 1.2);
    assert!((x - 365.0).abs() < 2.0 && (y - 66.0).abs() < 4.0, "{x}, {y}");
    assert!(mass(0.75, -1.2).1 > 400.0);
}
