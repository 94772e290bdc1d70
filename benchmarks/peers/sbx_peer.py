"""SBX: Stable-Baselines3 with its updates compiled by JAX."""

import common

WORKS = ("ppo_cartpole", "dqn_cartpole", "sac_pendulum")
options = common.arguments(WORKS)
common.pin(options.threads)

import torch  # noqa: E402  (after the thread limits)
from sbx import DQN, PPO, SAC  # noqa: E402

from sb3_runs import measure  # noqa: E402

torch.set_num_threads(options.threads)
measure({"ppo": PPO, "dqn": DQN, "sac": SAC}, options, "default", lambda name: {})
