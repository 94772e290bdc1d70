//! Worker processes with a real Gymnasium. The Python is that of `AXIOMRL_TEST_PYTHON`, or `python3` where it has gymnasium.

use axiomrl_envs::{ActionMap, EnvError, EnvSource, Purpose, Seeding, Space, VecEnv, Wrapping};
use axiomrl_gymnasium::{GymResolver, check, known};
use axiomrl_run::catalogue::EnvFactory;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

fn python() -> PathBuf {
    let named = env::var_os("AXIOMRL_TEST_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| "python3".into());
    let found = Command::new(&python).args(["-c", "import gymnasium"]).output();
    let has_it = found.is_ok_and(|ended| ended.status.success());
    assert!(has_it, "{} has no gymnasium; run `cargo xtask test`, which makes a Python that has", python.display());
    python
}

fn options(kwargs: Value) -> Map<String, Value> {
    kwargs.as_object().unwrap().clone()
}

fn try_source(id: &str, kwargs: Value, wrapping: Wrapping) -> Result<Arc<dyn EnvSource>, EnvError> {
    let known = vec!["CartPole-v1".to_owned()];
    GymResolver::new(Some(python()), known).source(id, &options(kwargs), wrapping)
}

fn source(id: &str, kwargs: Value) -> Arc<dyn EnvSource> {
    try_source(id, kwargs, Wrapping::default()).unwrap()
}

fn made(source: &dyn EnvSource, n: usize) -> Box<dyn VecEnv> {
    let mut envs = source.make(n, &Seeding::new(7, "env"), Purpose::Training).unwrap();
    envs.reset(None).unwrap();
    envs
}

fn step(envs: &mut dyn VecEnv, action: f32) -> Result<(), EnvError> {
    let (n, width) = (envs.num_envs(), envs.spaces().action.width());
    envs.step(0..n, &vec![action; n * width])
}

/// A module of environments that misbehave, in a folder that workers look in.
struct Bad {
    folder: tempfile::TempDir,
}

impl Bad {
    fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "import gymnasium, numpy, os, time\n\
             class Bad(gymnasium.Env):\n\
             \x20   observation_space = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)\n\
             \x20   action_space = gymnasium.spaces.Discrete(2)\n\
             \x20   t = 0\n\
             \x20   def reset(self, *, seed=None, options=None):\n\
             \x20       self.t = 0\n\
             \x20       return numpy.zeros(2, numpy.float32), {{}}\n\
             \x20   def step(self, action):\n\
             \x20       self.t += 1\n\
             \x20       obs = numpy.zeros(2, numpy.float32)\n\
             \x20       if self.t > 3 and not os.path.exists('mended'):\n\
             \x20           {body}\n\
             \x20       return obs, 1.0, False, False, {{}}\n\
             gymnasium.register('Bad-v0', Bad)\n"
        );
        fs::write(folder.path().join("axiomrl_bad_envs.py"), text).unwrap();
        Self { folder }
    }

    /// A Python that finds the module and begins in its folder.
    fn source(&self, kwargs: Value) -> Arc<dyn EnvSource> {
        let script = self.folder.path().join("python");
        let (folder, python) = (self.folder.path().display(), python());
        fs::write(&script, format!("#!/bin/sh\ncd {folder}\nexec {} \"$@\"\n", python.display())).unwrap();
        Command::new("chmod").arg("+x").arg(&script).status().unwrap();
        let resolver = GymResolver::new(Some(script), Vec::new());
        resolver.source("axiomrl_bad_envs:Bad-v0", &options(kwargs), Wrapping::default()).unwrap()
    }

    fn mend(&self) {
        fs::write(self.folder.path().join("mended"), "").unwrap();
    }
}

fn first_error(envs: &mut dyn VecEnv) -> String {
    (0..8).find_map(|_| step(envs, 0.0).err()).expect("it misbehaves from the fourth step on").to_string()
}

#[test]
fn episodes_are_the_same_whatever_the_number_of_processes() {
    let one = source("CartPole-v1", json!({}));
    let two = source("CartPole-v1", json!({ "workers": 2 }));
    let (mut a, mut b) = (made(one.as_ref(), 5), made(two.as_ref(), 5));
    assert_eq!(a.spaces(), &one.spaces().unwrap());
    assert_eq!(a.spaces().action, Space::Discrete { n: 2 });
    let mut ends = 0;
    for t in 0..60 {
        step(a.as_mut(), (t % 3 / 2) as f32).unwrap();
        step(b.as_mut(), (t % 3 / 2) as f32).unwrap();
        assert_eq!(a.state(), b.state());
        for end in &a.state().episodes {
            assert_eq!(end.episode_return, end.length as f64);
            assert_ne!(a.state().final_obs.row(end.env), a.state().obs.row(end.env));
            ends += 1;
        }
    }
    assert!(ends > 5, "{ends}");
    let seeding = Seeding::new(7, "env");
    a.reset(Some(&seeding)).unwrap();
    let mut fresh = made(one.as_ref(), 5);
    assert_eq!(a.state().obs, fresh.state().obs);
    fresh.reset(None).unwrap();
    assert_ne!(a.state().obs, fresh.state().obs);
    assert!(a.begin(3, &Seeding::new(7, "env")).unwrap());
    assert_eq!(a.state().obs.row(3).floats, a.state().obs.row(0).floats);
}

#[test]
fn boxes_stacked_frames_repeated_actions_and_pictures() {
    let wrapping = Wrapping { action_repeat: 2, frame_stack: 3 };
    let pendulum = try_source("gymnasium:Pendulum-v1", json!({}), wrapping).unwrap();
    let mut envs = pendulum.make(1, &Seeding::new(1, "eval/0"), Purpose::Evaluation).unwrap();
    envs.reset(None).unwrap();
    let Space::Box(seen) = &envs.spaces().observation else { panic!("a box") };
    assert_eq!((seen.shape.as_slice(), seen.frames), (&[9][..], 3));
    ActionMap::of(&envs.spaces().action).unwrap();
    let first = envs.state().obs.floats.clone();
    assert_eq!(first[..3], first[6..]);
    step(envs.as_mut(), 1.5).unwrap();
    assert_eq!(first[3..], envs.state().obs.floats[..6]);
    for _ in 1..100 {
        step(envs.as_mut(), 0.5).unwrap();
    }
    // 200 steps, two at a time.
    assert!(envs.state().truncated[0] && !envs.state().terminated[0]);
    assert_eq!(envs.state().episodes[0].length, 100);
    let (last, newest) = (&envs.state().final_obs.floats, &envs.state().obs.floats);
    assert!(last[..3] != last[3..6] && newest[..3] == newest[6..]);
    let picture = envs.render(0).expect("Pendulum has pictures");
    assert_eq!(picture.rgb.len(), 3 * picture.width * picture.height);
}

#[test]
fn an_environment_that_fails_says_which_and_why() {
    let bad = Bad::new("raise RuntimeError('the motor is broken')");
    let said = first_error(made(bad.source(json!({ "workers": 2 })).as_ref(), 4).as_mut());
    assert!(said.contains("environment") && said.contains("RuntimeError: the motor is broken"), "{said}");
    let bad = Bad::new("obs[1] = float('nan')");
    let said = first_error(made(bad.source(json!({})).as_ref(), 2).as_mut());
    assert!(said.contains("environment 0 failed") && said.contains("nan at place 1"), "{said}");
}

#[test]
fn a_lost_process_is_replaced_and_its_rows_are_no_steps() {
    let bad = Bad::new("os._exit(3)");
    let source = bad.source(json!({ "workers": 2 }));
    let mut envs = made(source.as_ref(), 4);
    for _ in 0..3 {
        step(envs.as_mut(), 0.0).unwrap();
        assert!(envs.state().stepped.iter().all(|&stepped| stepped));
    }
    step(envs.as_mut(), 0.0).unwrap();
    assert_eq!(envs.state().stepped, [false; 4]);
    assert_eq!(envs.state().reward, [0.0; 4]);
    bad.mend();
    for _ in 0..6 {
        step(envs.as_mut(), 0.0).unwrap();
        assert_eq!(envs.state().stepped, [true; 4]);
    }
}

#[test]
fn a_process_that_dies_again_and_again_or_hangs_ends_the_run() {
    let bad = Bad::new("print('out of fuel', flush=True); os._exit(3)");
    let said = first_error(made(bad.source(json!({ "restarts": 0 })).as_ref(), 1).as_mut());
    assert!(said.contains("exit code 3") && said.contains("out of fuel"), "{said}");
    let bad = Bad::new("time.sleep(1000)");
    let said = first_error(made(bad.source(json!({ "restarts": 0, "step_timeout": 1 })).as_ref(), 1).as_mut());
    assert!(said.contains("step_timeout"), "{said}");
}

#[test]
fn what_cannot_be_made_is_refused_with_the_remedy() {
    let said = |id: &str, kwargs: Value| {
        try_source(id, kwargs, Wrapping::default()).err().expect("it cannot be made").to_string()
    };
    assert!(said("CartPol-v1", json!({})).contains("did you mean `CartPole-v1`?"));
    assert!(said("NoSuchThing-v3", json!({})).contains("module:Id"));
    assert!(said("CartPole-v1", json!({ "workers": 0 })).contains("env_kwargs.workers"));
    assert!(said("CartPole-v1", json!({ "wrappers": ["Nonsense"] })).contains("no wrapper `Nonsense`"));
    let nowhere = GymResolver::new(Some("/no/such/python".into()), Vec::new());
    let refused = nowhere.source("LunarLander-v3", &Map::new(), Wrapping::default()).err().unwrap().to_string();
    assert!(refused.contains("--python") && refused.contains("/no/such/python"), "{refused}");
}

#[test]
fn environments_are_listed_and_looked_over() {
    let python = python();
    assert!(known(Some(&python)).unwrap().iter().any(|one| one.id == "CartPole-v1" && one.max_steps == Some(500)));
    let checked = check(Some(&python), "CartPole-v1", &Map::new(), 200).unwrap();
    assert!(checked.findings.iter().all(|finding| finding.level != "problem"), "{:?}", checked.findings);
    assert!(checked.steps_per_second > 0.0);
}
