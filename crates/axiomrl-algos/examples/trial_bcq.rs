//! throw-away: trials on data made here. args: algo env(pendulum|cartpole|narrow|probe4|probe5) updates seed [key=value ...]
use axiomrl_algos::*;
use axiomrl_core::random::{normal, uniform};
use axiomrl_core::{Dataset, DatasetBuilder, Episode};
use axiomrl_core::{Metrics, RewardScale, stream};
use axiomrl_envs::*;

fn rule(env: &str, obs: &[f32]) -> f32 {
    if env.starts_with("Cart") {
        let lean = 0.05 * obs[0] + 0.1 * obs[1] + obs[2] + 0.3 * obs[3];
        return f32::from(u8::from(lean > 0.0));
    }
    let (cos, angle, speed) = (obs[0], obs[1].atan2(obs[0]), obs[2]);
    let missing = 15.0 * (1.0 - cos) - 0.5 * speed * speed;
    let torque = if angle.abs() < 0.8 { -8.0 * angle - 2.0 * speed } else { 0.5 * missing * speed };
    torque.clamp(-2.0, 2.0) / 2.0
}

fn record(env_id: &str, what: &str, seed: u64) -> (Dataset, f64) {
    let source = registry::source(env_id, &Default::default(), Wrapping::default()).unwrap();
    let mut env = source.make(1, &Seeding::new(seed, "record"), Purpose::Training).unwrap();
    env.reset(None).unwrap();
    let spaces = env.spaces().clone();
    let map = ActionMap::of(&spaces.action).unwrap();
    let mut rng = stream(seed, "behaviour");
    let mut builder = DatasetBuilder::new(spaces.clone()).unwrap();
    let size = if what == "narrow" {
        10_000
    } else if what == "random" {
        10_000
    } else {
        20_000
    };
    let (mut done, mut episode, mut sum) = (0usize, 0, 0.0);
    let discrete = matches!(spaces.action, Space::Discrete { .. });
    while done < size {
        let random_episode = what == "random" || (what == "mixed" && episode % 2 == 0);
        let eps = match what {
            "replay" => 1.0 - done as f64 / size as f64,
            _ => 0.0,
        };
        let mut obs = env.state().obs.floats.clone();
        let (mut action, mut reward, mut term, mut trunc) = (vec![], vec![], vec![], vec![]);
        loop {
            let now = env.state().obs.floats.clone();
            let any = random_episode || uniform(&mut rng) < eps;
            let a = match (discrete, any) {
                (true, true) => {
                    if uniform(&mut rng) < 0.5 {
                        0.0
                    } else {
                        1.0
                    }
                }
                (true, false) => rule(env_id, &now),
                (false, true) => 2.0 * uniform(&mut rng) as f32 - 1.0,
                (false, false) => (rule(env_id, &now) + 0.1 * normal(&mut rng)).clamp(-1.0, 1.0),
            };
            let mut own = [0.0];
            map.to_env(&[a], &mut own);
            env.step(0..1, &own).unwrap();
            let s = env.state();
            action.push(a);
            reward.push(s.reward[0]);
            term.push(s.terminated[0]);
            trunc.push(s.truncated[0]);
            let ended = s.terminated[0] || s.truncated[0];
            obs.extend_from_slice(if ended { &s.final_obs.floats } else { &s.obs.floats });
            if ended {
                break;
            }
        }
        done += reward.len();
        episode += 1;
        sum += reward.iter().map(|r| *r as f64).sum::<f64>();
        builder
            .push(&Episode {
                obs: ObsRef::of_floats(reward.len() + 1, &obs),
                masks: &[],
                action: &action,
                reward: &reward,
                terminated: &term,
                truncated: &trunc,
            })
            .unwrap();
    }
    (builder.build().unwrap(), sum / episode as f64)
}

fn evaluate(agent: &mut dyn Agent, env_id: &str, seed: u64) -> f64 {
    let source = registry::source(env_id, &Default::default(), Wrapping::default()).unwrap();
    let n = 20;
    let mut env = source.make(n, &Seeding::new(seed, "eval"), Purpose::Evaluation).unwrap();
    env.reset(None).unwrap();
    let policy = agent.policy();
    let map = policy.action_map().clone();
    let mut memory = Memory::new(n, policy.memory_width());
    let mut rng = stream(seed, "eval-act");
    let width = env.spaces().action.width();
    let (mut unit, mut own) = (vec![0.0; n * width], vec![0.0; n * width]);
    let mut first: Vec<Option<f64>> = vec![None; n];
    while first.iter().any(Option::is_none) {
        policy.act(ActInput::of(env.state().obs.as_ref()), &mut memory, Mode::Best, &mut rng, &mut unit).unwrap();
        map.to_env(&unit, &mut own);
        env.step(0..n, &own).unwrap();
        for end in &env.state().episodes {
            first[end.env].get_or_insert(end.episode_return);
        }
    }
    first.iter().map(|r| r.unwrap()).sum::<f64>() / n as f64
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (algo, task, updates, seed) =
        (&args[1], &args[2], args[3].parse::<u64>().unwrap(), args[4].parse::<u64>().unwrap());
    let (env_id, what, scale) = match task.as_str() {
        "mixed" => ("Pendulum-v1".to_owned(), "mixed", 0.1),
        "narrow" => ("Pendulum-v1".to_owned(), "narrow", 0.1),
        "replay" => ("CartPole-v1".to_owned(), "replay", 1.0),
        probe => (probe.to_owned(), "random", 1.0),
    };
    let (data, mean) = record(&env_id, what, 2023);
    let entry = find(algo).unwrap();
    let assignments: Vec<String> = args[5..].iter().map(|a| format!("algo_kwargs.{a}")).collect();
    let text = format!("algo: {algo}\nenv_id: {env_id}\ntotal_timesteps: {updates}\n");
    let config = entry.read(&text, "trial", &assignments).unwrap();
    let setup = Setup {
        seed,
        prior: Some(data.clone()),
        total: updates,
        reward: RewardScale { scale, ..RewardScale::IDENTITY },
        ..Setup::new(data.spaces().clone())
    };
    let settings = config.algo_kwargs.0.clone();
    axiomrl_nn::with_threads(1, || {
        let mut agent = entry.build(&settings, &setup).unwrap().into_agent(&setup).unwrap();
        let mut metrics = Metrics::default();
        let start = std::time::Instant::now();
        let mut learning = 0.0;
        print!("{algo} {task} seed {seed} data {mean:.0} {:?}:", &args[5..]);
        let every = (updates / 5).max(1);
        let mut last = vec![];
        for at in 0..updates {
            let t = std::time::Instant::now();
            agent.update(Clock { env_steps: 0, updates: at, at, total: updates }, &mut metrics).unwrap();
            learning += t.elapsed().as_secs_f64();
            if (at + 1) % every == 0 {
                if !env_id.starts_with("Probe") {
                    print!(" {:.0}", evaluate(agent.as_mut(), &env_id, seed));
                }
                last = metrics.take();
            }
        }
        if env_id.starts_with("Probe") {
            let obs = [0.0, 1.0, -1.0];
            let mut actions = [0.0; 3];
            let mut v = [0.0; 3];
            agent.values(ActInput::of(ObsRef::of_floats(3, &obs)), &mut v);
            let mut rng = stream(seed, "eval-act");
            agent
                .policy()
                .act(
                    ActInput::of(ObsRef::of_floats(3, &obs)),
                    &mut Memory::new(3, 0),
                    Mode::Best,
                    &mut rng,
                    &mut actions,
                )
                .unwrap();
            print!(" values at 0 1 -1 {v:?} actions {actions:?}");
        }
        println!(" | {:.0} s learning, {:.0} s all", learning, start.elapsed().as_secs_f64());
        println!("   {}", last.iter().map(|(k, v)| format!("{k} {v:.3}")).collect::<Vec<_>>().join(", "));
    });
}
