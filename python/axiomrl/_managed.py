"""A class for every algorithm: an agent, its environment and its run in one object."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from . import _native, _stepwise
from ._config import TrainConfig, run_default, to_json
from ._dataset import Dataset
from ._keywords import POLICIES, translate
from ._environments import Maker, understood
from ._learning import drive, log
from ._policy import Acting
from ._registry import get_algorithm_spec, is_native
from ._stepwise import Replay
from .callbacks import Logger, Watching

#: What a copy of a run does not take along.
LEFT_OUT = shutil.ignore_patterns("run.lock", "step_*", "*.tmp", "*.old")


class ManagedAlgorithm(Acting):
    """An agent. `PPO("CartPole-v1", learning_rate=1e-3)` and `PPO(TrainConfig(...))` both make one."""

    #: The name of the algorithm in run files; None where the settings have yet to say it.
    algo: str | None = None

    def __init__(self, env: Any = None, *rest: Any, **settings: Any):
        if isinstance(env, str) and env in POLICIES:
            # Stable-Baselines3 names the kind of policy first.
            env, rest = (rest[0], rest[1:]) if rest else (settings.pop("env", None), ())
        if rest:
            raise TypeError(f"{type(self).__name__}() takes one environment and keywords")
        config = settings.pop("config", None)
        if isinstance(env, TrainConfig):
            config, env = env, None
        self._asked_run_dir = settings.pop("run_dir", None)
        self._native, self._env = bool(settings.pop("native", True)), env
        self._maker: Maker | None = None
        self._verbose = bool(settings.get("verbose", 0))
        if config is not None:
            self._run_keys, self._by_hand = self._of_config(config, settings), not config._complete
        else:
            self._run_keys, self._by_hand = self._of_keywords(env, settings), True
        if isinstance(self._run_keys.get("dataset"), Dataset):
            self._run_keys["dataset"] = self._run_keys["dataset"].block(self._runs() / "datasets")
        self._start()
        # Mistakes are found now, not when learning begins.
        _native.check(self._described(1), self._by_hand, self._maker)

    def _start(self) -> None:
        self._run: Any = None
        self._policy: Any = None
        self._folder: Path | None = None
        self._outcome: dict[str, Any] | None = None
        self._rows: list[dict[str, float]] = []
        self._touched = False
        self.logger = Logger(self)

    def _of_config(self, config: TrainConfig, others: dict[str, Any]) -> dict[str, Any]:
        if others:
            raise TypeError(f"{sorted(others)[0]!r} beside a TrainConfig; put it into the TrainConfig")
        if self.algo is not None and config.algo != self.algo:
            raise ValueError(f"a TrainConfig of {config.algo!r} where {self.algo!r} belongs; use axiomrl.make({config.algo!r})")
        run = config.to_dict()
        run["env_id"], _, _ = understood(config.env_id, self._native, None)
        return run

    def _of_keywords(self, env: Any, settings: dict[str, Any]) -> dict[str, Any]:
        if self.algo is None:
            raise TypeError("give a TrainConfig, or use the class of an algorithm")
        run, own = translate(get_algorithm_spec(self.algo), settings)
        name, self._maker, count = understood(env, self._native, run.get("num_envs"))
        if count is not None:
            run["num_envs"] = count
        return {"algo": self.algo, "env_id": name, **run, "algo_kwargs": own}

    def _runs(self) -> Path:
        """The folder that the run's own is made in."""
        if self._asked_run_dir is not None:
            return Path(self._asked_run_dir).parent
        return Path(self._run_keys.get("output_dir") or run_default("output_dir"))

    def _described(self, total_timesteps: int | None = None) -> str:
        run = {key: value for key, value in self._run_keys.items() if value is not None}
        if total_timesteps is not None:
            run["total_timesteps"] = total_timesteps
        return to_json(run)

    def _native_policy(self) -> Any:
        if self._run is not None:
            return self._run
        if self._policy is None:
            if self._folder is not None:
                self._policy = _native.LoadedPolicy.load(os.fspath(self._folder), self._maker)
            else:
                self._policy = _native.LoadedPolicy.blank(self._described(1), self._by_hand, self._maker)
        return self._policy

    # Learning

    def learn(self, total_timesteps: int | None = None, callback: Any = None, *, progress_bar: bool | None = None):
        """Trains for so many environment steps (updates, for algorithms that learn from recorded data alone), or to the end
        that the settings name. Called again, it goes on from there. Gives the agent itself.

        `callback` is told what happens and may stop the run: see `axiomrl.callbacks`. Ctrl-C saves, then raises.
        """
        shown = self._verbose if progress_bar is None else bool(progress_bar)
        run = self._open(total_timesteps, shown and sys.stderr.isatty())
        log.info("%s: stepped %s", self._run_keys["env_id"], "by the engine" if self.is_native else "in Python, by Gymnasium")
        self._outcome = None
        try:
            self._outcome = drive(self, run, Watching(self, callback), shown and not sys.stderr.isatty())
        finally:
            if not run.is_open:
                # What failed lets go of its folder; the last good checkpoint can be used.
                self._run = self._policy = self._layout = None
        return self

    # One's own loop

    def begin(self, total_timesteps: int | None = None):
        """Begins the run, or takes it up, for a loop of one's own. `total_timesteps` is how long it is to be, as for `learn`: its
        schedules need an end. Gives the agent itself."""
        self._open(total_timesteps, False)
        return self

    def collect(self, steps: int | None = None) -> dict[str, Any]:
        """Takes environment steps, exploring as in training, until the agent needs an update; with `steps`, that many, rounded up
        to whole rounds of its environments, without waiting for updates. What is due meanwhile, logs, evaluations and
        checkpoints, is done as `learn` does it.

        Gives the number of `steps` taken, `returns` and `lengths` of the episodes that ended, `evaluation` (None unless there was
        one), whether the agent now `needs_update`, and whether the run has `finished`.
        """
        return _stepwise.collect(self, steps)

    def update(self, batch: Mapping[str, Any] | None = None, n: int = 1) -> dict[str, float]:
        """`n` updates from what the agent has collected, or from `batch`: rows of `obs`, `action`, `reward`, `next_obs` and
        `terminated`, with `discount` and `weight` if you like. Gives what they report, averaged."""
        return _stepwise.update(self, batch, n)

    @property
    def replay(self) -> Replay:
        """The steps that the agent keeps to learn from: `add`, `sample` and `len`."""
        return Replay(self)

    def _open(self, total: int | None, shown: bool) -> Any:
        if total is not None and int(total) < 1:
            raise ValueError("total_timesteps must be at least 1")
        if self._folder is None:
            total = total if total is not None else self._run_keys.get("total_timesteps")
            if total is None:
                raise TypeError("say how long to learn: learn(total_timesteps), or begin(total_timesteps) for a loop of your own")
            run_dir = None if self._asked_run_dir is None else os.fspath(self._asked_run_dir)
            self._take(_native.Run.begin(self._described(int(total)), self._by_hand, self._maker, run_dir, shown))
            return self._run
        if self._run is None:
            self._take(_native.Run.resume(os.fspath(self._folder), None, self._maker, shown))
        if total is not None:
            self._lengthen(int(total), shown)
        return self._run

    def _take(self, run: Any) -> None:
        """Goes on with a run, with the parameters that were set meanwhile."""
        given = self._policy.parameters() if self._touched and self._policy is not None else None
        self._run, self._policy, self._folder = run, None, Path(run.run_dir)
        if not self._rows:
            self._rows = read_rows(self._folder)
        if given is not None:
            run.set_parameters(given, True)
        self._touched = False

    def _lengthen(self, more: int, shown: bool) -> None:
        """Makes the end of the run so many steps from here."""
        _, _, at, end = self._run.clock()
        total = self.config.total_timesteps - (end - at) + more
        if self._touched or at < end:
            self._run.save()
        folder = os.fspath(self._run.run_dir)
        self._run.close()
        self._run, self._touched = None, False
        self._take(_native.Run.resume(folder, total, self._maker, shown))

    def set_parameters(self, parameters: dict[str, Any], exact_match: bool = True) -> None:
        super().set_parameters(parameters, exact_match)
        self._touched = True

    # What became of it

    @property
    def run_dir(self) -> Path | None:
        """The run folder: logs, checkpoints, everything that the command line goes on with. None before learning begins."""
        return self._folder

    @property
    def checkpoint_path(self) -> Path | None:
        """The last checkpoint."""
        return None if self._folder is None else self._folder / "checkpoints" / "last"

    @property
    def num_timesteps(self) -> int:
        """Environment steps taken."""
        if self._run is not None:
            return self._run.clock()[0]
        if self._folder is None:
            return 0
        try:
            return json.loads((self._folder / "metadata.json").read_text())["progress"]["timesteps"]
        except (OSError, KeyError, ValueError):
            return 0

    @property
    def result(self) -> dict[str, Any] | None:
        """How `learn` ended: steps, updates, seconds, reason, the last evaluation and the best."""
        return self._outcome

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """Every metric that was logged, by its name in the logs, beside `step`; NaN where a row lacks it."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        column = lambda name: np.array([row.get(name, np.nan) for row in self._rows], float)  # noqa: E731
        columns = {name: column(name) for name in names}
        return {**columns, "step": columns.get("step", np.zeros(0)).astype(np.int64)}

    def get_env(self) -> Any:
        """The environment as it was given."""
        return self._env

    @property
    def is_native(self) -> bool:
        """Whether the engine steps an environment of its own, rather than Python one of Gymnasium's."""
        return is_native(self._run_keys["env_id"])

    # Files

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Saves everything, ready to be resumed, as a run folder at `path`."""
        path = Path(path)
        if self._folder is None:
            raise RuntimeError("there is nothing to save yet; call learn first")
        if self._run is not None:
            self._run.save()
        elif self._touched:
            raise RuntimeError("other parameters were set since it was loaded; learn on before saving")
        if path.resolve() == self._folder.resolve():
            return path
        if path.exists() and not (path / "config.yaml").is_file():
            raise FileExistsError(f"{path} is there already, and no run folder; choose another path")
        beside = path.with_name(path.name + ".new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(run_folder(self._folder), beside, ignore=LEFT_OUT)
        shutil.rmtree(path, ignore_errors=True)
        beside.rename(path)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None):
        """The agent of a run folder (its last checkpoint) or of a checkpoint. It acts at once; `learn` goes on with the run.
        An environment that was handed over when the agent was made has to be handed over again."""
        maker = None if env is None else understood(env, False, None)[1]
        policy = _native.LoadedPolicy.load(os.fspath(path), maker)
        config = TrainConfig.from_dict(json.loads(policy.config()))
        if cls.algo is not None and config.algo != cls.algo:
            other = get_algorithm_spec(config.algo).class_name
            raise _native.CheckpointError(f"{path} is of {config.algo!r}, not of {cls.algo!r}; use axiomrl.{other}.load")
        agent = object.__new__(CLASSES[config.algo] if cls.algo is None else cls)
        agent._run_keys, agent._by_hand, agent._asked_run_dir, agent._verbose = config.to_dict(), False, None, False
        agent._native, agent._env, agent._maker = True, env if env is not None else config.env_id, maker
        agent._start()
        agent._policy, agent._folder = policy, Path(path)
        agent._rows = read_rows(run_folder(agent._folder))
        return agent

    @classmethod
    def resume(cls, run_dir: str | os.PathLike[str], total_timesteps: int | None = None, env: Any = None, **options: Any):
        """Goes on with a run to its end, or to another one: `total_timesteps` counts from its first step."""
        agent = cls.load(run_dir, env)
        shown = bool(options.get("progress_bar")) and sys.stderr.isatty()
        agent._take(_native.Run.resume(os.fspath(run_dir), total_timesteps, agent._maker, shown))
        return agent.learn(**options)

    def close(self) -> None:
        """Lets go of the run folder, so that another process may use it. What was not saved is lost."""
        if self._run is not None:
            self._run.close()
            self._run = self._policy = self._layout = None

    def __repr__(self) -> str:
        where = f", in {self._folder}" if self._folder is not None else ""
        kind = "native" if self.is_native else "Gymnasium's"
        return f"<axiomrl.{type(self).__name__} on {self._run_keys['env_id']} ({kind}): {self.num_timesteps} steps{where}>"


def run_folder(path: Path) -> Path:
    """The run folder that a path leads to."""
    if not (path / "config.yaml").is_file() and (path.parent.parent / "config.yaml").is_file():
        return path.parent.parent
    return path


def read_rows(folder: Path) -> list[dict[str, float]]:
    """What was logged before."""
    rows = []
    try:
        with open(run_folder(folder) / "metrics.jsonl") as lines:
            for line in lines:
                row = json.loads(line)
                rows.append({"step": row["step"], **{name: np.nan if v is None else v for name, v in row["metrics"].items()}})
    except FileNotFoundError:
        pass
    return rows


def make(algo: str, env: Any = None, **settings: Any) -> ManagedAlgorithm:
    """An agent of the algorithm that run files call `algo`."""
    return CLASSES[get_algorithm_spec(algo).name](env, **settings)


def load(path: str | os.PathLike[str], env: Any = None) -> ManagedAlgorithm:
    """The agent of a run folder or of a checkpoint, whatever its algorithm."""
    return ManagedAlgorithm.load(path, env)


#: The classes, by the names that run files use.
CLASSES: dict[str, type[ManagedAlgorithm]] = {}
