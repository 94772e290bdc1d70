//! Environments by name.

use crate::kwargs::Kwargs;
use crate::native::{
    Acrobot, BitFlip, CartPole, CartPoleFixedHorizon, CartPolePixels, Catch, CatchTold, Context, DeepSea, Faulty,
    Hidden, Identity, IdentityMasked, MountainCar, MountainCarContinuous, Pendulum, PendulumPixels, PointGoal,
    PointMass, Probe, ProbeKind,
};
use crate::wrappers::{ObsMask, TimeLimit};
use crate::{BoxSpace, EachEnv, Env, EnvError, EnvSource, Space, Wrapping};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The option every environment takes.
const MAX_EPISODE_STEPS: &str = "max_episode_steps";
/// What is drawn once for a whole run, and stays the same in all its episodes, follows from this option.
pub const MAPPING_SEED: &str = "mapping_seed";
/// The longest time limit; also keeps step counts exact in every file format.
const LONGEST_EPISODE: u64 = 1 << 40;

/// What is known of a built-in environment.
pub struct EnvInfo {
    pub name: &'static str,
    pub summary: &'static str,
    /// Episodes are truncated after this many steps.
    pub max_steps: Option<u64>,
    /// The mean return from which the task counts as solved.
    pub reward_threshold: Option<f64>,
    /// Options of its own: name and meaning. Every environment takes `max_episode_steps` besides.
    pub kwargs: &'static [(&'static str, &'static str)],
    build: fn(&Kwargs<'_>) -> Result<Box<dyn Env>, EnvError>,
}

/// All built-in environments.
pub fn list() -> &'static [EnvInfo] {
    &ENVIRONMENTS
}

/// The description of `id`; the error suggests the nearest name.
pub fn info(id: &str) -> Result<&'static EnvInfo, EnvError> {
    list().iter().find(|info| info.name == id).ok_or_else(|| {
        let names: Vec<&str> = list().iter().map(|info| info.name).collect();
        EnvError::unknown(id, &names)
    })
}

/// Builds one environment, with its time limit.
pub fn make(id: &str, kwargs: &Map<String, Value>) -> Result<Box<dyn Env>, EnvError> {
    let info = info(id)?;
    let known: Vec<&str> = info.kwargs.iter().map(|(name, _)| *name).chain([MAX_EPISODE_STEPS]).collect();
    let kwargs = Kwargs::new(info.name, kwargs, &known)?;
    let env = (info.build)(&kwargs)?;
    let limit = kwargs.whole(MAX_EPISODE_STEPS, info.max_steps.unwrap_or(0), 1..=LONGEST_EPISODE)?;
    Ok(if limit > 0 { Box::new(TimeLimit::new(env, limit)) } else { env })
}

/// The source of a built-in environment with these options. Whatever is wrong with them is found here.
pub fn source(id: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Result<Arc<dyn EnvSource>, EnvError> {
    let (name, given) = (info(id)?.name, kwargs.clone());
    let source = EachEnv::new(name, wrapping, move || make(name, &given));
    source.spaces()?;
    Ok(Arc::new(source))
}

const CARTPOLE_KWARGS: &[(&str, &str)] =
    &[("sutton_barto_reward", "true: reward 0 a step and -1 for the fall, instead of 1 a step")];
const PENDULUM_KWARGS: &[(&str, &str)] = &[("g", "gravity, 10 by default")];
const MOUNTAIN_CAR_KWARGS: &[(&str, &str)] = &[("goal_velocity", "least velocity at the flag, 0 by default")];

fn cartpole(kwargs: &Kwargs<'_>) -> Result<CartPole, EnvError> {
    Ok(CartPole::new(kwargs.flag("sutton_barto_reward", false)?))
}

fn pendulum(kwargs: &Kwargs<'_>) -> Result<Pendulum, EnvError> {
    Ok(Pendulum::new(kwargs.number("g", 10.0)?))
}

const CARTPOLE_PIXELS_KWARGS: &[(&str, &str)] = &[
    ("sutton_barto_reward", "true: reward 0 a step and -1 for the fall, instead of 1 a step"),
    ("size", "side of the image in pixels, 64 by default"),
    ("color", "true: three channels instead of grey"),
];

const PIXELS_KWARGS: &[(&str, &str)] = &[
    ("g", "gravity, 10 by default"),
    ("size", "side of the image in pixels, 32 by default"),
    ("color", "true: three channels instead of grey"),
];

const CATCH_KWARGS: &[(&str, &str)] =
    &[("rows", "height of the board, 10 by default"), ("columns", "width, 5 by default")];

const CATCH_TOLD_KWARGS: &[(&str, &str)] = &[
    ("rows", "height of the board, 10 by default"),
    ("columns", "width, 5 by default"),
    ("hide", "board or told: keeps this part of the observation back, none by default"),
];

/// Rows and columns of a board.
fn board(kwargs: &Kwargs<'_>) -> Result<(usize, usize), EnvError> {
    Ok((kwargs.whole("rows", 10, 2..=512)? as usize, kwargs.whole("columns", 5, 2..=512)? as usize))
}

const FAULTY_KWARGS: &[(&str, &str)] = &[
    ("nan_reward_at", "the step of its life that brings a NaN reward, never by default"),
    ("nan_observation_at", "the step of its life that brings a NaN observation, never by default"),
];

fn faulty(kwargs: &Kwargs<'_>, continuous: bool) -> Result<Box<dyn Env>, EnvError> {
    let step = |name| kwargs.whole(name, 0, 1..=LONGEST_EPISODE);
    Ok(Box::new(Faulty::new(continuous, step("nan_reward_at")?, step("nan_observation_at")?)))
}

/// An episode of one or two steps needs no clock.
const fn probe(
    name: &'static str,
    summary: &'static str,
    build: fn(&Kwargs<'_>) -> Result<Box<dyn Env>, EnvError>,
) -> EnvInfo {
    EnvInfo { name, summary, max_steps: None, reward_threshold: None, kwargs: &[], build }
}

static ENVIRONMENTS: [EnvInfo; 34] = [
    EnvInfo {
        name: "CartPole-v1",
        summary: "Balance a pole on a cart by pushing left or right",
        max_steps: Some(500),
        reward_threshold: Some(475.0),
        kwargs: CARTPOLE_KWARGS,
        build: |kwargs| Ok(Box::new(cartpole(kwargs)?)),
    },
    EnvInfo {
        name: "CartPoleNoVel-v1",
        summary: "CartPole that shows positions but no velocities: needs memory",
        max_steps: Some(500),
        reward_threshold: Some(475.0),
        kwargs: CARTPOLE_KWARGS,
        build: |kwargs| Ok(Box::new(ObsMask::new(cartpole(kwargs)?, &[0, 2])?)),
    },
    EnvInfo {
        name: "CartPoleFixedHorizon-v0",
        summary: "CartPole that goes on after a fall, so that no episode's length tells how good it was",
        max_steps: Some(500),
        reward_threshold: Some(475.0),
        kwargs: &[],
        build: |_| Ok(Box::new(CartPoleFixedHorizon::new())),
    },
    EnvInfo {
        name: "CartPolePixels-v0",
        summary: "CartPole seen as a square image: stack frames, or remember, to see its speeds",
        max_steps: Some(500),
        reward_threshold: Some(475.0),
        kwargs: CARTPOLE_PIXELS_KWARGS,
        build: |kwargs| {
            let size = kwargs.whole("size", 64, 8..=512)? as usize;
            Ok(Box::new(CartPolePixels::new(cartpole(kwargs)?, size, kwargs.flag("color", false)?)))
        },
    },
    EnvInfo {
        name: "Pendulum-v1",
        summary: "Swing a pendulum up and hold it there with a weak motor",
        max_steps: Some(200),
        reward_threshold: None,
        kwargs: PENDULUM_KWARGS,
        build: |kwargs| Ok(Box::new(pendulum(kwargs)?)),
    },
    EnvInfo {
        name: "PendulumNoVel-v1",
        summary: "Pendulum that shows the angle but not its speed: needs memory",
        max_steps: Some(200),
        reward_threshold: None,
        kwargs: PENDULUM_KWARGS,
        build: |kwargs| Ok(Box::new(ObsMask::new(pendulum(kwargs)?, &[0, 1])?)),
    },
    EnvInfo {
        name: "PendulumPixels-v0",
        summary: "Pendulum seen as a square image: stack frames to see its speed",
        max_steps: Some(200),
        reward_threshold: None,
        kwargs: PIXELS_KWARGS,
        build: |kwargs| {
            let size = kwargs.whole("size", 32, 8..=512)? as usize;
            Ok(Box::new(PendulumPixels::new(pendulum(kwargs)?, size, kwargs.flag("color", false)?)))
        },
    },
    EnvInfo {
        name: "Catch-v0",
        summary: "Catch a falling ball, seen as a small image",
        max_steps: None,
        reward_threshold: Some(0.9),
        kwargs: CATCH_KWARGS,
        build: |kwargs| {
            let (rows, columns) = board(kwargs)?;
            Ok(Box::new(Catch::new(rows, columns)))
        },
    },
    EnvInfo {
        name: "CatchTold-v0",
        summary: "Catch one of two falling balls: an image shows them, a number says which",
        max_steps: None,
        reward_threshold: Some(0.9),
        kwargs: CATCH_TOLD_KWARGS,
        build: |kwargs| {
            let (rows, columns) = board(kwargs)?;
            let hidden = kwargs.choice("hide", &[("board", Hidden::Board), ("told", Hidden::Told)])?;
            Ok(Box::new(CatchTold::new(rows, columns, hidden)))
        },
    },
    EnvInfo {
        name: "Acrobot-v1",
        summary: "Swing the tip of a two-link arm above a line",
        max_steps: Some(500),
        reward_threshold: Some(-100.0),
        kwargs: &[],
        build: |_| Ok(Box::new(Acrobot::new())),
    },
    EnvInfo {
        name: "MountainCar-v0",
        summary: "Rock a weak car up a hill, with three gears",
        max_steps: Some(200),
        reward_threshold: Some(-110.0),
        kwargs: MOUNTAIN_CAR_KWARGS,
        build: |kwargs| Ok(Box::new(MountainCar::new(kwargs.number("goal_velocity", 0.0)?))),
    },
    EnvInfo {
        name: "MountainCarContinuous-v0",
        summary: "Rock a weak car up a hill, with a throttle",
        max_steps: Some(999),
        reward_threshold: Some(90.0),
        kwargs: MOUNTAIN_CAR_KWARGS,
        build: |kwargs| Ok(Box::new(MountainCarContinuous::new(kwargs.number("goal_velocity", 0.0)?))),
    },
    EnvInfo {
        name: "BitFlip-v0",
        summary: "Flip bits one at a time until they equal a goal: needs hindsight",
        max_steps: None,
        reward_threshold: None,
        kwargs: &[("n", "bits, and steps of an episode, 10 by default")],
        build: |kwargs| Ok(Box::new(BitFlip::new(kwargs.whole("n", 10, 2..=1000)? as usize))),
    },
    EnvInfo {
        name: "PointGoal-v0",
        summary: "Move a point in the plane to a goal, rewarded only for arriving",
        max_steps: Some(50),
        reward_threshold: None,
        kwargs: &[("radius", "how close counts as there, 0.1 by default")],
        build: |kwargs| Ok(Box::new(PointGoal::new(kwargs.number("radius", 0.1)? as f32))),
    },
    EnvInfo {
        name: "PointMass-v0",
        summary: "Push a mass in the plane to the origin and keep it there, with two forces at once",
        max_steps: Some(100),
        reward_threshold: None,
        kwargs: &[],
        build: |_| Ok(Box::new(PointMass::new())),
    },
    EnvInfo {
        name: "Context-v0",
        summary: "Choose what a random context calls for: tests of imitation whose actions move no state",
        max_steps: Some(50),
        reward_threshold: Some(45.0),
        kwargs: &[],
        build: |_| Ok(Box::new(Context::new())),
    },
    EnvInfo {
        name: "DeepSea-v0",
        summary: "Dive to a far corner that no step on the way speaks of: needs exploration",
        max_steps: None,
        reward_threshold: Some(0.9),
        kwargs: &[
            ("size", "rows and columns, 10 by default"),
            (MAPPING_SEED, "which action goes right in which cell follows from it; in a run, its seed by default"),
        ],
        build: |kwargs| {
            let size = kwargs.whole("size", 10, 2..=1000)? as usize;
            Ok(Box::new(DeepSea::new(size, kwargs.whole(MAPPING_SEED, 0, 0..=u64::MAX)?)))
        },
    },
    EnvInfo {
        name: "IdentityDiscrete-v0",
        summary: "Repeat the observed choice",
        max_steps: Some(100),
        reward_threshold: Some(99.0),
        kwargs: &[("n", "choices, 2 by default")],
        build: |kwargs| {
            let n = kwargs.whole("n", 2, 2..=1000)? as usize;
            Ok(Box::new(Identity::new(Space::Discrete { n })))
        },
    },
    EnvInfo {
        name: "IdentityMultiDiscrete-v0",
        summary: "Repeat several observed choices at once",
        max_steps: Some(100),
        reward_threshold: Some(99.0),
        kwargs: &[("n", "choices of each part, 2 by default"), ("dim", "parts, 2 by default")],
        build: |kwargs| {
            let (n, dim) = (kwargs.whole("n", 2, 2..=1000)?, kwargs.whole("dim", 2, 1..=100)?);
            Ok(Box::new(Identity::new(Space::MultiDiscrete { nvec: vec![n as usize; dim as usize] })))
        },
    },
    EnvInfo {
        name: "IdentityMultiBinary-v0",
        summary: "Repeat the observed bits",
        max_steps: Some(100),
        reward_threshold: Some(99.0),
        kwargs: &[("n", "bits, 2 by default")],
        build: |kwargs| {
            let n = kwargs.whole("n", 2, 1..=100)? as usize;
            Ok(Box::new(Identity::new(Space::MultiBinary { n })))
        },
    },
    EnvInfo {
        name: "IdentityBox-v0",
        summary: "Repeat the observed numbers",
        max_steps: Some(100),
        reward_threshold: Some(-1.0),
        kwargs: &[("dim", "numbers, 1 by default")],
        build: |kwargs| {
            let dim = kwargs.whole("dim", 1, 1..=100)? as usize;
            Ok(Box::new(Identity::new(Space::Box(BoxSpace::uniform(dim, -1.0, 1.0)))))
        },
    },
    EnvInfo {
        name: "IdentityMasked-v0",
        summary: "Pick the allowed member of the observed pair: needs action masks",
        max_steps: Some(100),
        reward_threshold: Some(99.0),
        kwargs: &[("n", "actions, an even number, 4 by default")],
        build: |kwargs| match kwargs.whole("n", 4, 4..=1000)? {
            n if n % 2 == 0 => Ok(Box::new(IdentityMasked::new(n as usize / 2))),
            n => Err(kwargs.bad("n", format!("option `n` must be even, for actions come in pairs, not {n}"))),
        },
    },
    probe("Probe1-v0", "Reward 1: are values learned?", |_| Ok(Box::new(Probe::new(ProbeKind::ConstantReward, false)))),
    probe("Probe2-v0", "Reward = observation: do values depend on it?", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ObservedReward, false)))
    }),
    probe("Probe3-v0", "Reward one step later: is it discounted?", |_| {
        Ok(Box::new(Probe::new(ProbeKind::DelayedReward, false)))
    }),
    probe("Probe4-v0", "One action is right: does the policy find it?", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ActionReward, false)))
    }),
    probe("Probe5-v0", "The right action is observed: does the policy look?", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ObservedActionReward, false)))
    }),
    probe("Probe1Continuous-v0", "Probe1 with a continuous action", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ConstantReward, true)))
    }),
    probe("Probe2Continuous-v0", "Probe2 with a continuous action", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ObservedReward, true)))
    }),
    probe("Probe3Continuous-v0", "Probe3 with a continuous action", |_| {
        Ok(Box::new(Probe::new(ProbeKind::DelayedReward, true)))
    }),
    probe("Probe4Continuous-v0", "Probe4 with a continuous action, best at 0.5", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ActionReward, true)))
    }),
    probe("Probe5Continuous-v0", "Probe5 with a continuous action, best at half the observation", |_| {
        Ok(Box::new(Probe::new(ProbeKind::ObservedActionReward, true)))
    }),
    EnvInfo {
        name: "Faulty-v0",
        summary: "Brings a NaN when told to: tests what guards against it",
        max_steps: None,
        reward_threshold: None,
        kwargs: FAULTY_KWARGS,
        build: |kwargs| faulty(kwargs, false),
    },
    EnvInfo {
        name: "FaultyContinuous-v0",
        summary: "Faulty with a continuous action",
        max_steps: None,
        reward_threshold: None,
        kwargs: FAULTY_KWARGS,
        build: |kwargs| faulty(kwargs, true),
    },
];
