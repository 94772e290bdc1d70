"""The runs in the words of Stable-Baselines3, which SBX and sb3-contrib understand too."""

import common

RUNS = {
    "ppo_cartpole": ("ppo", "CartPole-v1", [64, 64], {"n_steps": 2048, "n_epochs": 10, "batch_size": 64}),
    "dqn_cartpole": ("dqn", "CartPole-v1", [64, 64], {
        "train_freq": 1, "gradient_steps": 1, "batch_size": 64, "learning_starts": 100, "buffer_size": 100_000,
    }),
    "sac_pendulum": ("sac", "Pendulum-v1", [256, 256], {
        "batch_size": 256, "learning_starts": 100, "buffer_size": 10_000,
    }),
    "a2c_cartpole": ("a2c", "CartPole-v1", [64, 64], {"n_steps": 5, "gae_lambda": 1.0}),
    "trpo_cartpole": ("trpo", "CartPole-v1", [64, 64], {
        "n_steps": 2048, "cg_max_steps": 15, "n_critic_updates": 10, "batch_size": 128,
    }),
    "ars_pendulum": ("ars", "Pendulum-v1", None, {"n_delta": 8, "n_top": 8}),
}
# Environments, where there are several.
ENVS = {"a2c_cartpole": 8}
# Steps before the clock starts (they fill the store and compile what is compiled), and timed steps per round.
LENGTHS = {
    "ppo_cartpole": (2048, 4096), "dqn_cartpole": (1000, 2000), "sac_pendulum": (300, 500),
    "a2c_cartpole": (1000, 8000), "trpo_cartpole": (2048, 8192), "ars_pendulum": (3200, 6400),
}


def measure(algorithms, options, variant, policy):
    """`policy` gives what is changed in the policy of an algorithm."""
    # Not above: the lengths are read where this library is not needed.
    from stable_baselines3.common.env_util import make_vec_env

    for work in options.work:
        name, env, widths, settings = RUNS[work]
        warm_up, steps = LENGTHS[work]
        # No widths: a linear policy, which has nothing to be set.
        kind, policy_kwargs = ("MlpPolicy", {"net_arch": widths, **policy(name)}) if widths else ("LinearPolicy", {})
        envs = make_vec_env(env, n_envs=ENVS[work], seed=1) if work in ENVS else env
        model = algorithms[name](kind, envs, seed=1, verbose=0, policy_kwargs=policy_kwargs, **settings)
        model.learn(warm_up)

        def run(steps):
            model.learn(steps, reset_num_timesteps=False)

        best = common.best_steps_per_second(run, steps, options.rounds)
        common.emit(work, variant, options.threads, best, "steps/s")
