//! The runs that are compared: every learner, and the settings that take paths of their own.

/// A packaged config, shortened.
pub struct Case {
    pub name: &'static str,
    pub config: &'static str,
    pub steps: u64,
    /// Settings, as for `axiomrl train --set`; later ones win.
    pub groups: &'static [&'static [&'static str]],
    /// Numbers of an observation that `predict` is asked about; 0 where it is not asked.
    pub observation: usize,
    /// Stopped in the middle and resumed.
    pub stops_halfway: bool,
}

/// Small networks, and a store that is full before the run ends.
const DQN: &[&str] = &[
    "algo_kwargs.hidden_sizes=[32, 32]",
    "algo_kwargs.buffer_capacity=600",
    "algo_kwargs.learning_starts=100",
    "algo_kwargs.train_frequency=4",
    "algo_kwargs.gradient_steps=2",
    "algo_kwargs.target_update_interval=64",
];
const ACTOR_CRITIC: &[&str] = &[
    "algo_kwargs.hidden_sizes=[32, 32]",
    "algo_kwargs.buffer_capacity=500",
    "algo_kwargs.batch_size=64",
    "algo_kwargs.learning_starts=100",
    "algo_kwargs.gradient_steps=1",
];
const SEVERAL_UPDATES: &[&str] = &["algo_kwargs.gradient_steps=4", "algo_kwargs.train_frequency=2"];
const PIXELS: &[&str] = &[
    "algo_kwargs.hidden_sizes=[32, 32]",
    "algo_kwargs.buffer_capacity=300",
    "algo_kwargs.batch_size=16",
    "algo_kwargs.learning_starts=100",
    "algo_kwargs.train_frequency=4",
    "env_kwargs.max_episode_steps=60",
];
const RECURRENT_Q: &[&str] = &[
    "algo_kwargs.hidden_sizes=[16]",
    "algo_kwargs.head_sizes=[16]",
    "algo_kwargs.recurrent_hidden_size=16",
    "algo_kwargs.buffer_capacity=600",
    "algo_kwargs.batch_size=8",
    "algo_kwargs.learning_starts=200",
    "algo_kwargs.target_update_interval=64",
];
const RECURRENT_AC: &[&str] = &[
    "algo_kwargs.hidden_sizes=[16]",
    "algo_kwargs.head_sizes=[16]",
    "algo_kwargs.recurrent_hidden_size=16",
    "algo_kwargs.buffer_capacity=500",
    "algo_kwargs.batch_size=8",
    "algo_kwargs.learning_starts=100",
];
const PPO: &[&str] = &["algo_kwargs.hidden_sizes=[32, 32]", "algo_kwargs.update_epochs=4"];
const RECURRENT_PPO: &[&str] = &[
    "algo_kwargs.recurrent_hidden_size=16",
    "algo_kwargs.num_steps=64",
    "algo_kwargs.update_epochs=3",
    "algo_kwargs.sequence_length=16",
];
const MODEL: &[&str] = &[
    "algo_kwargs.model_hidden_sizes=[16, 16]",
    "algo_kwargs.model_updates=40",
    "algo_kwargs.model_updates_first=60",
    "algo_kwargs.model_check_interval=10",
    "algo_kwargs.model_train_frequency=100",
    "algo_kwargs.rollout_batch_size=500",
];
const PLANS: &[&str] = &[
    "algo_kwargs.model_hidden_sizes=[16]",
    "algo_kwargs.model_updates=40",
    "algo_kwargs.model_epochs=1",
    "algo_kwargs.planning_horizon=5",
    "algo_kwargs.planning_candidates=20",
    "algo_kwargs.plan_elites=4",
];
const THREE_ENVIRONMENTS: &[&str] = &["num_envs=3"];
const MASKED: &[&str] = &["env_id=IdentityMasked-v0", "algo_kwargs.gamma=0.5"];
const BOTH_NORMALISATIONS: &[&str] = &["normalize_observation=true", "normalize_reward=true"];

/// A step count that three environments do not divide: the run ends inside a round.
const INSIDE_A_ROUND: u64 = 1001;

pub const CASES: &[Case] = &[
    // Every learner, and every network or target that a name of its own asks for.
    cartpole("dqn", "dqn/cartpole"),
    cartpole("double_dqn", "double_dqn/cartpole"),
    cartpole("dueling_dqn", "dueling_dqn/cartpole"),
    cartpole("noisy_dqn", "noisy_dqn/cartpole"),
    cartpole("prioritized_dqn", "prioritized_dqn/cartpole"),
    cartpole("n_step_dqn", "n_step_dqn/cartpole"),
    cartpole("c51_dqn", "c51_dqn/cartpole"),
    cartpole("qr_dqn", "qr_dqn/cartpole"),
    cartpole("iqn", "iqn/cartpole"),
    cartpole("fqf", "fqf/cartpole"),
    cartpole("rainbow_dqn", "rainbow_dqn/cartpole"),
    cartpole("munchausen_double_dqn", "munchausen_double_dqn/cartpole"),
    cartpole("mellowmax_dqn", "mellowmax_dqn/cartpole"),
    cartpole("soft_dqn", "soft_dqn/cartpole"),
    cartpole("boltzmann_dqn", "boltzmann_dqn/cartpole"),
    cartpole("expected_double_dqn", "expected_double_dqn/cartpole"),
    cartpole("persistent_advantage", "persistent_advantage_learning_dqn/cartpole"),
    cartpole("clipped_double_dqn", "clipped_double_dqn/cartpole"),
    cartpole("hysteretic_dqn", "hysteretic_dqn/cartpole"),
    cartpole("cql_dqn", "cql_dqn/cartpole"),
    case("dqn_images", "dqn/catch", 600, &[DQN]),
    case("rainbow_images", "rainbow_dqn/catch", 600, &[DQN]),
    case("fqf_images", "fqf/catch", 600, &[DQN]),
    case("ppo", "ppo/cartpole", 1536, &[PPO]).sees(4),
    case("ppo_box", "ppo/pendulum", 2048, &[PPO]).sees(3),
    pendulum("ddpg", "ddpg/pendulum"),
    pendulum("td3", "td3/pendulum"),
    pendulum("sac", "sac/pendulum"),
    pendulum("d4pg", "d4pg/pendulum"),
    pendulum("tqc", "tqc/pendulum"),
    pendulum("crossq", "crossq/pendulum"),
    pendulum("naf", "naf/pendulum"),
    pendulum("mpo", "mpo/pendulum"),
    case("redq", "redq/pendulum", 400, &[ACTOR_CRITIC, SEVERAL_UPDATES]).sees(3),
    case("droq", "droq/pendulum", 400, &[ACTOR_CRITIC, SEVERAL_UPDATES]).sees(3),
    case("discrete_sac", "discrete_sac/cartpole", 800, &[ACTOR_CRITIC]).sees(4),
    case("mbpo", "mbpo/pendulum", 400, &[ACTOR_CRITIC, MODEL]).sees(3),
    case("pets", "pets/pendulum", 500, &[PLANS]),
    case("drqv2", "drqv2/pendulum_pixels", 400, &[PIXELS]),
    case("drq", "drq/pendulum_pixels", 400, &[PIXELS]),
    case("curl", "curl/pendulum_pixels", 400, &[PIXELS]),
    case("drqn", "drqn/cartpole", 1000, &[RECURRENT_Q]),
    case("drqn_normalised", "drqn/cartpole_novel", 1000, &[RECURRENT_Q]),
    case("r2d2", "r2d2/cartpole", 1000, &[RECURRENT_Q]),
    case("r2d2_images", "r2d2/catch", 600, &[RECURRENT_Q]),
    case("recurrent_ppo", "recurrent_ppo/cartpole", 1536, &[RECURRENT_PPO]),
    case("recurrent_ppo_normalised", "recurrent_ppo/cartpole_novel", 1536, &[RECURRENT_PPO]),
    case("recurrent_ppo_box", "recurrent_ppo/pendulum_novel", 1536, &[RECURRENT_PPO]),
    case("recurrent_sac", "recurrent_sac/pendulum_novel", 600, &[RECURRENT_AC]),
    case("recurrent_td3", "recurrent_td3/pendulum_novel", 600, &[RECURRENT_AC]),
    case("goals", "her/bitflip", 800, &[ACTOR_CRITIC]),
    case("goals_box", "her/point_goal", 800, &[ACTOR_CRITIC]),
    case("a2c", "a2c/cartpole", 1500, &[]).sees(4),
    case("reinforce", "reinforce/cartpole", 1500, &[]).sees(4),
    case("trpo", "trpo/cartpole", 2100, &[]).sees(4),
    case("trpo_box", "trpo/pendulum", 4200, &[]).sees(3),
    case("ppg", "ppg/cartpole", 2100, &[]).sees(4),
    case("acktr", "acktr/cartpole", 1500, &[]).sees(4),
    case("acktr_images", "acktr/catch", 600, &[]),
    case("acer", "acer/cartpole", 1500, &[]).sees(4),
    case("rnd", "rnd/mountain_car", 5200, &[]).sees(2),
    case("icm", "icm/mountain_car", 5200, &[]).sees(2),
    case("dreamerv3", "dreamerv3/cartpole", 260, &[]),
    case("dreamer", "dreamer/catch", 520, &[]),
    case("ars", "ars/cartpole", 1500, &[]).sees(4),
    case("ars_network", "ars/acrobot", 9000, &[]).sees(6),
    case("ars_box", "ars/pendulum", 3300, &[]).sees(3),
    case("openai_es", "openai_es/cartpole", 2000, &[]).sees(4),
    case("cem", "cem/cartpole", 4000, &[]).sees(4),
    // Settings.
    case("inside_a_round_ppo", "ppo/cartpole", INSIDE_A_ROUND, &[PPO, THREE_ENVIRONMENTS]).sees(4),
    case("inside_a_round_dqn", "rainbow_dqn/cartpole", INSIDE_A_ROUND, &[DQN, THREE_ENVIRONMENTS]).sees(4),
    case("inside_a_round_sac", "sac/pendulum", INSIDE_A_ROUND, &[ACTOR_CRITIC, THREE_ENVIRONMENTS]).sees(3),
    case("inside_a_round_r2d2", "r2d2/cartpole", INSIDE_A_ROUND, &[RECURRENT_Q, THREE_ENVIRONMENTS]),
    case("n_step_sac", "sac/pendulum", 800, &[ACTOR_CRITIC, &["algo_kwargs.n_step=3"]]).sees(3),
    case("priorities_sac", "sac/pendulum", 800, &[ACTOR_CRITIC, &["algo_kwargs.prioritized_replay=true"]]).sees(3),
    case("masks_dqn", "dqn/cartpole", 800, &[DQN, MASKED]),
    case("masks_ppo", "ppo/cartpole", 1024, &[PPO, MASKED]),
    case("multi_discrete", "ppo/cartpole", 1024, &[PPO, &["env_id=IdentityMultiDiscrete-v0"]]),
    case("multi_binary", "ppo/cartpole", 1024, &[PPO, &["env_id=IdentityMultiBinary-v0"]]),
    case("frame_stack", "dqn/cartpole", 800, &[DQN, &["frame_stack=3"]]).sees(12),
    case("frame_stack_images", "dqn/catch", 600, &[DQN, &["frame_stack=2"]]),
    case("action_repeat", "sac/pendulum", 800, &[ACTOR_CRITIC, &["action_repeat=2"]]).sees(3),
    case("noise_gaussian", "td3/pendulum", 800, &[ACTOR_CRITIC, &["algo_kwargs.exploration=gaussian"]]).sees(3),
    case(
        "noise_ornstein_uhlenbeck",
        "td3/pendulum",
        800,
        &[ACTOR_CRITIC, &["algo_kwargs.exploration=ornstein_uhlenbeck"]],
    )
    .sees(3),
    case("noise_colored", "td3/pendulum", 800, &[ACTOR_CRITIC, &["algo_kwargs.exploration=colored"]]).sees(3),
    case("noise_state_dependent", "td3/pendulum", 800, &[ACTOR_CRITIC, &["algo_kwargs.exploration=state_dependent"]])
        .sees(3),
    case("noise_policy_state", "sac/pendulum", 800, &[ACTOR_CRITIC, &["algo_kwargs.exploration=state_dependent"]])
        .sees(3),
    case("normalised_ppo", "ppo/pendulum", 2048, &[PPO, BOTH_NORMALISATIONS]).sees(3),
    case("normalised_dqn", "dqn/cartpole", 800, &[DQN, &["normalize_observation=true"]]).sees(4),
    case("normalised_sac", "sac/pendulum", 800, &[ACTOR_CRITIC, BOTH_NORMALISATIONS]).sees(3),
    // Stopped half-way, in the middle of a round of three environments.
    case("halves_ppo", "ppo/cartpole", 1502, &[PPO, THREE_ENVIRONMENTS, BOTH_NORMALISATIONS]).sees(4).halfway(),
    case("halves_rainbow", "rainbow_dqn/cartpole", 1000, &[DQN, THREE_ENVIRONMENTS]).sees(4).halfway(),
    case("halves_sac", "sac/pendulum", 800, &[ACTOR_CRITIC, THREE_ENVIRONMENTS]).sees(3).halfway(),
    case("halves_goals", "her/bitflip", 800, &[ACTOR_CRITIC]).halfway(),
    case("halves_r2d2", "r2d2/cartpole", 1000, &[RECURRENT_Q, THREE_ENVIRONMENTS]).halfway(),
    case("halves_recurrent_ppo", "recurrent_ppo/cartpole", 1502, &[RECURRENT_PPO, THREE_ENVIRONMENTS]).halfway(),
    case("halves_drqv2", "drqv2/pendulum_pixels", 400, &[PIXELS]).halfway(),
];

const fn case(
    name: &'static str,
    config: &'static str,
    steps: u64,
    groups: &'static [&'static [&'static str]],
) -> Case {
    Case { name, config, steps, groups, observation: 0, stops_halfway: false }
}

const fn cartpole(name: &'static str, config: &'static str) -> Case {
    case(name, config, 800, &[DQN]).sees(4)
}

const fn pendulum(name: &'static str, config: &'static str) -> Case {
    case(name, config, 800, &[ACTOR_CRITIC]).sees(3)
}

impl Case {
    /// The policy is without memory and sees this many numbers.
    const fn sees(mut self, observation: usize) -> Self {
        self.observation = observation;
        self
    }

    const fn halfway(mut self) -> Self {
        self.stops_halfway = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    /// They read data that is made first, and have no earlier build to be compared with.
    const FROM_DATA: &[&str] = &[
        "airl",
        "awac",
        "awr",
        "bc",
        "bcq",
        "bear",
        "cal_ql",
        "cql",
        "crr",
        "dagger",
        "decision_transformer",
        "discrete_bcq",
        "edac",
        "gail",
        "iql",
        "marwil",
        "mopo",
        "rebrac",
        "rlpd",
        "sac_n",
        "td3_bc",
        "xql",
    ];

    #[test]
    fn every_algorithm_with_a_config_is_compared_or_named_here_as_the_sum_of_others() {
        // Their two settings are in other cases, one each.
        let sums = [
            "advantage_learning_dqn",
            "boltzmann_double_dqn",
            "cql_double_dqn",
            "expected_sarsa",
            "munchausen_dqn",
            "soft_double_dqn",
        ];
        for folder in std::fs::read_dir(crate::shell::root().join("configs")).unwrap() {
            let algo = folder.unwrap().file_name().into_string().unwrap();
            let compared = CASES.iter().any(|case| case.config.split('/').next() == Some(algo.as_str()));
            let left_out = sums.contains(&algo.as_str()) || FROM_DATA.contains(&algo.as_str());
            assert!(compared != left_out, "{algo}");
        }
    }

    #[test]
    fn every_config_exists() {
        for case in CASES {
            let path = crate::shell::root().join("configs").join(format!("{}.yaml", case.config));
            assert!(path.is_file(), "{}: {}", case.name, path.display());
        }
    }
}
