//! Worker processes with a real Gymnasium. The Python is that of `AXIOMRL_TEST_PYTHON`, or `python3` where it has gymnasium.

use axiomrl_envs::{ActionMap, EnvError, EnvSource, ObsRef, Purpose, Rows, Seeding, Space, VecEnv, Wrapping};
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

/// A module of environments, in a folder that workers begin in.
struct Module {
    folder: tempfile::TempDir,
}

impl Module {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("axiomrl_test_envs.py"), format!("import gymnasium, numpy, os, time\n{text}"))
            .unwrap();
        Self { folder }
    }

    /// An environment that does something from its fourth step on, until it is mended.
    fn misbehaving(how: &str) -> Self {
        Self::new(&BAD.replace("HOW", how))
    }

    fn source(&self, kwargs: Value) -> Arc<dyn EnvSource> {
        let (folder, python) = (self.folder.path().display(), python());
        let script = self.script(&format!("cd {folder}\nexec {} \"$@\"", python.display()));
        script_source(script, kwargs).unwrap()
    }

    /// Something that is run as Python is.
    fn script(&self, text: &str) -> PathBuf {
        let script = self.folder.path().join("python");
        fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
        Command::new("chmod").arg("+x").arg(&script).status().unwrap();
        script
    }

    fn mend(&self) {
        fs::write(self.folder.path().join("mended"), "").unwrap();
    }
}

fn script_source(script: PathBuf, kwargs: Value) -> Result<Arc<dyn EnvSource>, EnvError> {
    GymResolver::new(Some(script), Vec::new()).source(
        "axiomrl_test_envs:Test-v0",
        &options(kwargs),
        Wrapping::default(),
    )
}

const BAD: &str = "
class Bad(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return numpy.zeros(2, numpy.float32), {}

    def step(self, action):
        self.t += 1
        obs = numpy.zeros(2, numpy.float32)
        if self.t > 3 and not os.path.exists('mended'):
            HOW
        return obs, 1.0, False, False, {}

gymnasium.register('Test-v0', Bad)
";

const REACH: &str = "
class Reach(gymnasium.Env):
    point = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)
    observation_space = gymnasium.spaces.Dict(observation=point, achieved_goal=point, desired_goal=point)
    action_space = point

    def shown(self):
        return {name: numpy.zeros(2, numpy.float32) for name in self.observation_space}

    def reset(self, *, seed=None, options=None):
        return self.shown(), {}

    def step(self, action):
        return self.shown(), 0.0, False, False, {'is_success': True}

    def compute_reward(self, achieved, desired, info):
        return -(numpy.linalg.norm(achieved - desired, axis=-1) > 0.5).astype(numpy.float32)

gymnasium.register('Test-v0', Reach)
";

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
    let bad = Module::misbehaving("raise RuntimeError('the motor is broken')");
    let said = first_error(made(bad.source(json!({ "workers": 2 })).as_ref(), 4).as_mut());
    assert!(said.contains("environment") && said.contains("RuntimeError: the motor is broken"), "{said}");
    let bad = Module::misbehaving("obs[1] = float('nan')");
    let said = first_error(made(bad.source(json!({})).as_ref(), 2).as_mut());
    assert!(said.contains("environment 0 failed") && said.contains("nan at place 1"), "{said}");
}

#[test]
fn a_lost_process_is_replaced_and_its_rows_are_no_steps() {
    let bad = Module::misbehaving("os._exit(3)");
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
    let bad = Module::misbehaving("print('out of fuel', flush=True); os._exit(3)");
    let said = first_error(made(bad.source(json!({ "restarts": 0 })).as_ref(), 1).as_mut());
    assert!(said.contains("exit code 3") && said.contains("out of fuel"), "{said}");
    let bad = Module::misbehaving("time.sleep(1000)");
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

#[test]
fn other_goals_are_judged_by_the_environment() {
    let reach = Module::new(REACH);
    let source = reach.source(json!({}));
    let envs = made(source.as_ref(), 2);
    assert_eq!(envs.spaces().info, ["success"]);
    let rules = envs.task_rules().expect("it has compute_reward");
    // Two rows of what was observed, achieved and desired.
    let seen = [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, /* */ 0.0, 0.0, 0.9, 0.0, 0.0, 0.0];
    let obs = ObsRef::of_floats(2, &seen);
    let (mut reward, mut terminated) = ([9.0; 2], [true; 2]);
    rules.apply(Rows { obs, action: &[0.0; 4], next_obs: obs }, Some(&mut reward), &mut terminated).unwrap();
    assert_eq!((reward, terminated), ([0.0, -1.0], [false, false]));
}

#[test]
fn what_is_no_python_is_refused() {
    let module = Module::new("");
    let said = |text: &str| {
        let made = script_source(module.script(text), json!({ "start_timeout": 1 }));
        made.err().expect("it is no Python").to_string()
    };
    let died = said("echo no such thing >&2; exit 7");
    assert!(died.contains("exit code 7") && died.contains("no such thing"), "{died}");
    assert!(said("cat > /dev/null; sleep 60").contains("start_timeout"));
    let sense = "makes no sense";
    assert!(said("printf 'hello, world'; sleep 60").contains(sense));
    // A sound answer of 14 bytes, in a protocol of another time.
    assert!(said(r#"printf 'k\016\000\000\000{"protocol":9}'; sleep 60"#).contains("protocol 9"));
}
