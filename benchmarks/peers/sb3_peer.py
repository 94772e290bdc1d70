"""Stable-Baselines3: whole training runs, as its users write them and with the fused Adam."""

import common

WORKS = ("ppo_cartpole", "dqn_cartpole", "sac_pendulum")
options = common.arguments(WORKS)

import torch  # noqa: E402  (after the thread limits)
from stable_baselines3 import DQN, PPO, SAC  # noqa: E402

from sb3_runs import measure  # noqa: E402

torch.set_num_threads(options.threads)
for variant, optimizer in (("default", {}), ("tuned", {"fused": True})):
    policy = {"optimizer_kwargs": optimizer} if optimizer else {}
    measure({"ppo": PPO, "dqn": DQN, "sac": SAC}, options, variant, policy)
