"""Reinforcement learning on a CPU: a class for every algorithm, runs that can be stopped and resumed to the bit.

>>> import axiomrl
>>> agent = axiomrl.PPO("CartPole-v1", num_envs=8, seed=1).learn(50_000)
>>> agent.evaluate(20)["mean_reward"]
"""

import os as _os

from . import _native, callbacks, gym
from ._classes import NAMES as _NAMES
from ._config import TrainConfig
from ._dataset import Dataset
from ._managed import ManagedAlgorithm, load, make
from ._native import CheckpointError, Diverged
from ._policy import Policy, evaluate_checkpoint, load_policy, predict_checkpoint
from ._registry import (
    AlgorithmSpec,
    EnvironmentSpec,
    get_algorithm_spec,
    get_environment_spec,
    list_algorithm_specs,
    list_algorithms,
    list_environments,
)
from ._zoo import from_sb3_zoo
from .callbacks import BaseCallback, Callback

__version__ = _native.VERSION
__all__ = [
    "AlgorithmSpec",
    "BaseCallback",
    "Callback",
    "CheckpointError",
    "Dataset",
    "Diverged",
    "EnvironmentSpec",
    "ManagedAlgorithm",
    "Policy",
    "TrainConfig",
    "callbacks",
    "evaluate_checkpoint",
    "from_sb3_zoo",
    "get_algorithm_spec",
    "get_environment_spec",
    "gym",
    "list_algorithm_specs",
    "list_algorithms",
    "list_environments",
    "load",
    "load_policy",
    "make",
    "predict_checkpoint",
    *_NAMES,
]
globals().update(_NAMES)

# The engine's threads do not survive a fork; whoever uses it in a forked process is told, instead of waiting for ever.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.forked)
