"""A run in the words of a run file."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _native
from ._dataset import Dataset


@dataclass
class TrainConfig:
    """What to run: the keys of a run file, with its defaults. `axiomrl schema <algo>` describes them."""

    #: Name of the algorithm, as `list_algorithms` has it.
    algo: str
    #: Name of the environment.
    env_id: str
    #: Environment steps to train for; may be left to `learn`.
    total_timesteps: int | None = None
    #: Everything random follows from it.
    seed: int = 0
    #: Environments stepped together.
    num_envs: int = 1
    #: Where run folders are made.
    output_dir: str | os.PathLike[str] = "runs"
    #: Steps between evaluations: a tenth of the run if None, only at the end if 0.
    eval_interval: int | None = None
    #: Episodes of each evaluation.
    eval_episodes: int = 20
    #: Steps between checkpoints: a tenth of the run if None, only at the end if 0.
    checkpoint_interval: int | None = None
    #: How many of the newest numbered checkpoints are kept.
    keep_checkpoints: int = 3
    #: Steps between rows of the logs.
    log_interval: int = 1000
    #: Stops the run before its end: `target_reward`, `patience`, `min_delta`, `min_steps`.
    early_stopping: dict[str, Any] | None = None
    #: Gradient updates after which the run ends.
    max_updates: int | None = None
    #: Seconds after which the run ends.
    max_seconds: float | None = None
    #: Standardises observations with running statistics.
    normalize_observation: bool = False
    #: Divides rewards by the running deviation of the return.
    normalize_reward: bool = False
    #: Steps for which every action is held.
    action_repeat: int = 1
    #: Observations shown together, newest last.
    frame_stack: int = 1
    #: "auto" or "cpu".
    device: str = "auto"
    #: Free words, copied into `metadata.json`.
    tags: list[str] = field(default_factory=list)
    #: Recorded transitions, for algorithms that learn from them.
    dataset: dict[str, Any] | Dataset | None = None
    #: Options of the environment.
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    #: Settings of the algorithm.
    algo_kwargs: dict[str, Any] = field(default_factory=dict)
    #: What another library's file said that has no place here (`from_sb3_zoo`); no part of the run.
    unmapped: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # Whether a file filled in every setting, also those without an effect.
    _complete: bool = field(default=False, repr=False, compare=False)

    @classmethod
    def from_file(cls, name_or_path: str | os.PathLike[str], **changes: Any) -> TrainConfig:
        """A run file, or one of the packaged ones by its name ("ppo/cartpole"). `changes` are keys of it with other values;
        those of `algo_kwargs` and `env_kwargs` are laid over the file's."""
        assignments = []
        if isinstance(changes.get("dataset"), Dataset):
            folder = Path(changes.get("output_dir") or run_default("output_dir")) / "datasets"
            changes = {**changes, "dataset": changes["dataset"].block(folder)}
        for key, value in changes.items():
            inner = isinstance(value, dict) and key in ("algo_kwargs", "env_kwargs")
            pairs = {f"{key}.{name}": one for name, one in value.items()} if inner else {key: value}
            assignments += [f"{name}={to_json(one)}" for name, one in pairs.items()]
        return cls.from_dict(json.loads(_native.run_file(os.fspath(name_or_path), assignments)))

    @classmethod
    def from_dict(cls, run: dict[str, Any]) -> TrainConfig:
        """A run with every default filled in, as the engine gives it."""
        return cls(**run, _complete=True)

    def to_dict(self) -> dict[str, Any]:
        """The keys that say something; what is None says nothing."""
        run = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name not in BESIDE}
        return {key: value for key, value in run.items() if value is not None}

    def replace(self, **changes: Any) -> TrainConfig:
        """The same with other values."""
        return dataclasses.replace(self, **changes)


#: What a config knows and a run file does not.
BESIDE = ("unmapped", "_complete")

#: Keys of a run that every class takes besides its own settings.
RUN_KEYS = {
    item.name: item
    for item in dataclasses.fields(TrainConfig)
    if item.name not in ("algo", "env_id", "total_timesteps", "algo_kwargs", *BESIDE)
}


def run_default(key: str) -> Any:
    """What a key of a run is unless told otherwise."""
    item = RUN_KEYS[key]
    return item.default if item.default_factory is dataclasses.MISSING else item.default_factory()


def to_json(value: Any) -> str:
    """JSON also of what numpy and pathlib make."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if callable(value):
        raise TypeError(f'{value!r} is no setting; a schedule is written {{"linear": [first, last]}}')
    raise TypeError(f"{value!r} is no setting: use numbers, words, lists and dictionaries")
