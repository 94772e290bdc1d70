"""rlox: environments and stores in Rust, learning in PyTorch."""

import common

WORKS = ("ppo_cartpole", "dqn_cartpole", "sac_pendulum")
options = common.arguments(WORKS)

import torch  # noqa: E402  (after the thread limits)
from rlox.algorithms.dqn import DQN  # noqa: E402
from rlox.algorithms.ppo import PPO  # noqa: E402
from rlox.algorithms.sac import SAC  # noqa: E402

from sb3_runs import LENGTHS  # noqa: E402


def ppo():
    return PPO(
        "CartPole-v1", n_envs=1, seed=1, n_steps=2048, n_epochs=10, batch_size=64, learning_rate=3e-4, ent_coef=0.0,
        clip_vloss=False, anneal_lr=False,
    )


def dqn():
    return DQN(
        "CartPole-v1", hidden=64, batch_size=64, buffer_size=100_000, learning_starts=100, double_dqn=False,
        train_freq=1, gradient_steps=1, max_grad_norm=10.0, seed=1,
    )


def sac():
    return SAC("Pendulum-v1", hidden=256, batch_size=256, buffer_size=10_000, learning_starts=100, seed=1)


torch.set_num_threads(options.threads)
for work in options.work:
    agent = {"ppo_cartpole": ppo, "dqn_cartpole": dqn, "sac_pendulum": sac}[work]()
    warm_up, steps = LENGTHS[work]
    agent.train(warm_up)
    # Every call of `train` counts its random steps anew; the store is filled by now.
    agent.learning_starts = 0
    best = common.best_steps_per_second(agent.train, steps, options.rounds)
    common.emit(work, "default", options.threads, best, "steps/s")
