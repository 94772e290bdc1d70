"""Stable-Baselines3: whole training runs, as its users write them, and with the fused Adam or A2C's RMSprop over all weights at
once."""

import common

WORKS = ("ppo_cartpole", "dqn_cartpole", "sac_pendulum", "a2c_cartpole")
options = common.arguments(WORKS)

import torch  # noqa: E402  (after the thread limits)
from stable_baselines3 import A2C, DQN, PPO, SAC  # noqa: E402

from sb3_runs import measure  # noqa: E402

ADAM = {"optimizer_kwargs": {"fused": True}}
# RMSprop has no fused form; the other numbers are those of the library's A2C.
RMSPROP = {
    "optimizer_class": torch.optim.RMSprop,
    "optimizer_kwargs": {"alpha": 0.99, "eps": 1e-5, "weight_decay": 0, "foreach": True},
}

torch.set_num_threads(options.threads)
algorithms = {"ppo": PPO, "dqn": DQN, "sac": SAC, "a2c": A2C}
measure(algorithms, options, "default", lambda name: {})
measure(algorithms, options, "tuned", lambda name: RMSPROP if name == "a2c" else ADAM)
