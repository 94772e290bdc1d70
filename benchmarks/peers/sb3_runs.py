"""The three runs in the words of Stable-Baselines3, which SBX understands too."""

import common

RUNS = {
    "ppo_cartpole": ("ppo", "CartPole-v1", [64, 64], {"n_steps": 2048, "n_epochs": 10, "batch_size": 64}),
    "dqn_cartpole": ("dqn", "CartPole-v1", [64, 64], {
        "train_freq": 1, "gradient_steps": 1, "batch_size": 64, "learning_starts": 100, "buffer_size": 100_000,
    }),
    "sac_pendulum": ("sac", "Pendulum-v1", [256, 256], {
        "batch_size": 256, "learning_starts": 100, "buffer_size": 10_000,
    }),
}
# Steps before the clock starts (they fill the store and compile what is compiled), and timed steps per round.
LENGTHS = {"ppo_cartpole": (2048, 4096), "dqn_cartpole": (1000, 2000), "sac_pendulum": (300, 500)}


def measure(algorithms, options, variant, policy):
    for work in options.work:
        name, env, widths, settings = RUNS[work]
        warm_up, steps = LENGTHS[work]
        policy_kwargs = {"net_arch": widths, **policy}
        model = algorithms[name]("MlpPolicy", env, seed=1, verbose=0, policy_kwargs=policy_kwargs, **settings)
        model.learn(warm_up)

        def run(steps):
            model.learn(steps, reset_num_timesteps=False)

        best = common.best_steps_per_second(run, steps, options.rounds)
        common.emit(work, variant, options.threads, best, "steps/s")
