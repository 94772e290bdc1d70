"""Stable-Baselines3 as a client: it checks and trains on our environments, and reads our monitor files.

Needs `axiomrl`, `stable_baselines3`, `pandas` and `matplotlib`. Ends with an assertion where something does not fit.
"""

import pathlib
import tempfile

import matplotlib
import numpy as np

matplotlib.use("Agg")

import axiomrl  # noqa: E402
import axiomrl.gym  # noqa: E402
from gymnasium.utils.env_checker import check_env as gymnasium_check  # noqa: E402
from stable_baselines3 import DQN, PPO  # noqa: E402
from stable_baselines3.common.env_checker import check_env as sb3_check  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor, load_results  # noqa: E402
from stable_baselines3.common.results_plotter import X_TIMESTEPS, plot_results, ts2xy  # noqa: E402

CHECKED = ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Catch-v0", "PendulumPixels-v0"]

if __name__ == "__main__":
    for name in CHECKED:
        env = axiomrl.gym.make(name)
        gymnasium_check(env, skip_render_check=True)
        sb3_check(env, warn=True)
        print(f"{name}: Gymnasium's and Stable-Baselines3's checks pass")

    env = Monitor(axiomrl.gym.make("CartPole-v1"))
    before, _ = evaluate_policy(PPO("MlpPolicy", env, seed=1), env, 10)
    model = PPO("MlpPolicy", env, seed=1, n_steps=1024).learn(20_000)
    after, _ = evaluate_policy(model, env, 10)
    print(f"Stable-Baselines3's PPO on our CartPole: {before:.1f} before, {after:.1f} after 20,000 steps")
    assert after > before + 50
    DQN("MlpPolicy", axiomrl.gym.make("Acrobot-v1"), seed=1, learning_starts=500).learn(1000)

    with tempfile.TemporaryDirectory() as folder:
        agent = axiomrl.PPO("CartPole-v1", num_envs=8, seed=1).learn(20_000)
        run = pathlib.Path(agent.save(f"{folder}/run"))
        results = load_results(str(run))
        steps, returns = ts2xy(results, X_TIMESTEPS)
        assert len(results) > 50 and np.all(np.diff(steps) >= 0) and returns.max() > 100, results.describe()
        plot_results([str(run)], 20_000, X_TIMESTEPS, "ours")
        matplotlib.pyplot.savefig(f"{folder}/curve.png")
        assert pathlib.Path(f"{folder}/curve.png").stat().st_size > 10_000
        print(f"our monitor file: {len(results)} episodes read and drawn by Stable-Baselines3")
