"""The original AxiomRL in Python: whole training runs through its public classes, files included as it writes them."""

import contextlib
import sys
import tempfile
from pathlib import Path

import common

WORKS = ("ppo_cartpole", "dqn_cartpole", "sac_pendulum")
options = common.arguments(WORKS)

import torch  # noqa: E402  (after the thread limits)
from axiomrl.core import DQN, PPO, SAC, TrainConfig  # noqa: E402

RUNS = {
    "ppo_cartpole": (PPO, "ppo", "CartPole-v1", 4096, {
        "num_steps": 2048, "update_epochs": 10, "minibatch_size": 64, "hidden_sizes": (64, 64), "learning_rate": 3e-4,
    }),
    "dqn_cartpole": (DQN, "dqn", "CartPole-v1", 2000, {
        "train_frequency": 1, "gradient_steps": 1, "batch_size": 64, "hidden_sizes": (64, 64), "learning_starts": 100,
        "buffer_capacity": 100_000,
    }),
    "sac_pendulum": (SAC, "sac", "Pendulum-v1", 600, {
        "batch_size": 256, "hidden_sizes": (256, 256), "learning_starts": 100, "buffer_capacity": 10_000,
    }),
}


def train(work, steps, folder):
    kind, name, env, _, settings = RUNS[work]
    config = TrainConfig(
        algo=name, env_id=env, seed=1, total_timesteps=steps, output_dir=Path(folder), device="cpu", num_envs=1,
        eval_episodes=1, log_interval=1_000_000, checkpoint_interval=1_000_000, algo_kwargs=settings,
    )
    # It reports on standard output, which is ours for the figures.
    with contextlib.redirect_stdout(sys.stderr):
        kind(config).learn()


torch.set_num_threads(options.threads)
with tempfile.TemporaryDirectory() as folder:
    for work in options.work:
        steps = RUNS[work][3]
        # It cannot go on after a run, so each round is a whole one; this one only loads what is loaded once.
        train(work, steps // 4, folder)
        best = common.best_steps_per_second(lambda steps: train(work, steps, folder), steps, options.rounds)
        common.emit(work, "default", options.threads, best, "steps/s")
