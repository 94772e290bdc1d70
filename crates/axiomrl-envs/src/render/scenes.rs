//! One function a scene: from the quantities that are visible to a picture.

use super::canvas::{Canvas, Point, Rgb};
use crate::Frame;
use std::f64::consts::PI;

const INK: Rgb = [40, 40, 46];
const GREY: Rgb = [150, 150, 156];
const WOOD: Rgb = [202, 152, 101];
const RED: Rgb = [204, 77, 77];
const BLUE: Rgb = [92, 107, 192];
const TEAL: Rgb = [0, 160, 160];
const GOLD: Rgb = [222, 190, 20];

/// `distance` from `(x, y)` at `angle` from straight up, clockwise.
fn from_upright((x, y): Point, distance: f64, angle: f64) -> Point {
    (x + distance * angle.sin(), y + distance * angle.cos())
}

/// A cart on a rail at `x` metres from the middle, its pole `angle` from upright.
pub(crate) fn cartpole(x: f64, angle: f64, max_x: f64) -> Option<Frame> {
    let mut canvas = Canvas::new(600, 400)?;
    let scale = 600.0 / (2.0 * max_x);
    let (centre, rail, axle) = (300.0 + x * scale, 100.0, 108.0);
    canvas.line(&[(0.0, rail), (600.0, rail)], 2.0, INK);
    let (left, right, bottom, top) = (centre - 27.0, centre + 27.0, rail - 15.0, rail + 15.0);
    canvas.polygon(&[(left, bottom), (left, top), (right, top), (right, bottom)], INK);
    // The pole is one metre long, and drawn so.
    canvas.line(&[(centre, axle), from_upright((centre, axle), scale, angle)], 10.0, WOOD);
    canvas.circle((centre, axle), 5.0, BLUE);
    Some(canvas.finish())
}

/// A pendulum `angle` (anticlockwise) from upright, and the torque, from −1 to 1, as an arc around the pivot.
pub(crate) fn pendulum(angle: f64, torque: f64) -> Option<Frame> {
    let mut canvas = Canvas::new(500, 500)?;
    let pivot = (250.0, 250.0);
    canvas.line(&[pivot, from_upright(pivot, 170.0, -angle)], 36.0, RED);
    if torque.abs() > 0.02 {
        let (radius, sweep) = (70.0, -torque * PI * 0.8);
        let arc: Vec<Point> = (0..=24).map(|i| from_upright(pivot, radius, sweep * f64::from(i) / 24.0)).collect();
        canvas.line(&arc, 4.0, BLUE);
        // A head a fixed length past the end of the arc.
        let ahead = sweep + 0.25 * sweep.signum();
        let head = [(radius - 9.0, sweep), (radius + 9.0, sweep), (radius, ahead)];
        canvas.polygon(&head.map(|(r, a)| from_upright(pivot, r, a)), BLUE);
    }
    canvas.circle(pivot, 6.0, INK);
    Some(canvas.finish())
}

/// Two links hanging from the middle: `angle1` from straight down, `angle2` relative to the first, both anticlockwise.
pub(crate) fn acrobot(angle1: f64, angle2: f64) -> Option<Frame> {
    let mut canvas = Canvas::new(500, 500)?;
    let metre = 500.0 / 4.4;
    let shoulder = (250.0, 250.0);
    let elbow = from_upright(shoulder, metre, PI - angle1);
    let tip = from_upright(elbow, metre, PI - angle1 - angle2);
    // The line to pass lies one metre above the shoulder.
    canvas.line(&[(0.0, 250.0 + metre), (500.0, 250.0 + metre)], 2.0, INK);
    canvas.line(&[shoulder, elbow], 20.0, TEAL);
    canvas.line(&[elbow, tip], 20.0, TEAL);
    canvas.circle(shoulder, 10.0, GOLD);
    canvas.circle(elbow, 10.0, GOLD);
    Some(canvas.finish())
}

/// A car on the hill at `position`, with a flag at `goal`.
pub(crate) fn mountain_car(position: f64, goal: f64) -> Option<Frame> {
    let (min, max) = (-1.2, 0.6);
    let mut canvas = Canvas::new(600, 400)?;
    let scale = 600.0 / (max - min);
    let ground = |x: f64| ((x - min) * scale, ((3.0 * x).sin() * 0.45 + 0.55) * scale);
    let hill: Vec<Point> = (0..=120).map(|i| ground(min + (max - min) * f64::from(i) / 120.0)).collect();
    canvas.line(&hill, 2.0, INK);

    let (flag_x, flag_y) = ground(goal);
    canvas.line(&[(flag_x, flag_y), (flag_x, flag_y + 50.0)], 2.0, INK);
    canvas.polygon(&[(flag_x, flag_y + 50.0), (flag_x, flag_y + 36.0), (flag_x + 25.0, flag_y + 43.0)], GOLD);

    // The car's own axes: along the slope (the hill's derivative) and away from it.
    let slope = (1.35 * (3.0 * position).cos()).atan();
    let (x, y) = ground(position);
    let place =
        |along: f64, up: f64| (x + along * slope.cos() - up * slope.sin(), y + along * slope.sin() + up * slope.cos());
    canvas.polygon(&[place(-20.0, 8.0), place(-20.0, 28.0), place(20.0, 28.0), place(20.0, 8.0)], INK);
    canvas.circle(place(-10.0, 8.0), 8.0, GREY);
    canvas.circle(place(10.0, 8.0), 8.0, GREY);
    Some(canvas.finish())
}

/// A mass at `(x, y)` in a square room whose walls are `wall` from the origin, the goal in the middle, and the force on it.
pub(crate) fn point_mass((x, y): Point, (push_x, push_y): Point, wall: f64) -> Option<Frame> {
    let mut canvas = Canvas::new(500, 500)?;
    let scale = 230.0 / wall;
    let (centre, mass) = ((250.0, 250.0), (250.0 + x * scale, 250.0 + y * scale));
    let (low, high) = (20.0, 480.0);
    canvas.line(&[(low, low), (low, high), (high, high), (high, low), (low, low)], 2.0, INK);
    canvas.circle(centre, 14.0, GOLD);
    canvas.line(&[mass, (mass.0 + 40.0 * push_x, mass.1 + 40.0 * push_y)], 4.0, BLUE);
    canvas.circle(mass, 10.0, RED);
    Some(canvas.finish())
}
