"""What watches a run, and may stop it.

A callback is a function, an object with some of the methods of `Callback`, a `BaseCallback` in the manner of
Stable-Baselines3, or a list of such. All are called between two pieces of the run, when the agent is at rest: it may be asked
for actions, measured, saved or given other parameters.
"""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["BaseCallback", "Callback", "Logger"]


class Callback:
    """Does nothing. Whatever returns False stops the run, which can be resumed."""

    def on_train_start(self, agent: Any) -> None:
        """The run begins or goes on."""

    def on_step(self, agent: Any) -> bool | None:
        """Environments have stepped."""

    def on_rollout_end(self, agent: Any) -> bool | None:
        """What was collected is about to be learned from."""

    def on_evaluation(self, agent: Any, result: dict[str, Any]) -> bool | None:
        """The agent was evaluated."""

    def on_checkpoint(self, agent: Any, path: Any) -> bool | None:
        """A checkpoint was written."""

    def on_log(self, agent: Any, row: dict[str, float]) -> bool | None:
        """A row of metrics was logged."""

    def on_train_end(self, agent: Any) -> None:
        """The run is over, or stopped."""


class Logger:
    """Numbers that callbacks record, by name: pairs of step and value."""

    def __init__(self, agent: Any):
        self._agent = agent
        self.values: dict[str, list[tuple[int, float]]] = {}

    def record(self, key: str, value: Any, exclude: Any = None) -> None:
        self.values.setdefault(key, []).append((self._agent.num_timesteps, value))

    record_mean = record


class BaseCallback:
    """As in Stable-Baselines3: override `_on_step` and its like."""

    parent: BaseCallback | None = None

    def __init__(self, verbose: int = 0):
        self.verbose = verbose
        self.model: Any = None
        self.n_calls = 0
        self.num_timesteps = 0
        self.locals: dict[str, Any] = {}
        self.globals: dict[str, Any] = {}

    @property
    def logger(self) -> Logger:
        return self.model.logger

    @property
    def training_env(self) -> Any:
        return self.model.get_env()

    def init_callback(self, model: Any) -> None:
        self.model = model
        self._init_callback()

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        self.locals, self.globals = locals_, globals_
        self.num_timesteps = self.model.num_timesteps
        self._on_training_start()

    def on_rollout_start(self) -> None:
        self._on_rollout_start()

    def on_step(self) -> bool:
        self.n_calls += 1
        self.num_timesteps = self.model.num_timesteps
        return self._on_step()

    def on_rollout_end(self) -> None:
        self._on_rollout_end()

    def on_training_end(self) -> None:
        self._on_training_end()

    def update_locals(self, locals_: dict[str, Any]) -> None:
        self.locals.update(locals_)

    def _init_callback(self) -> None: ...

    def _on_training_start(self) -> None: ...

    def _on_rollout_start(self) -> None: ...

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None: ...

    def _on_training_end(self) -> None: ...


class Watching:
    """All callbacks of a run."""

    def __init__(self, agent: Any, callback: Any):
        given = callback if isinstance(callback, (list, tuple)) else [callback]
        self.agent = agent
        self.all = [adapted(one) for one in given if one is not None]
        self.each_step = any(one.each_step for one in self.all)

    def tell(self, event: str, *details: Any) -> bool:
        """Whether the run is to go on. All are told, whatever the first says."""
        return all([one.tell(self.agent, event, *details) is not False for one in self.all])


def adapted(callback: Any) -> Any:
    if hasattr(callback, "_on_step") and hasattr(callback, "init_callback"):
        return OfBaselines(callback)
    if any(hasattr(callback, name) for name in vars(Callback) if name.startswith("on_")):
        return OfMethods(callback)
    if callable(callback):
        return OfFunction(callback)
    raise TypeError(f"{callback!r} is no callback: give a function, or an object with `on_step` or its like")


class OfMethods:
    """An object with some of the methods of `Callback`."""

    def __init__(self, callback: Any):
        self.callback = callback
        # Nobody is called at every step for a method that does nothing.
        own = [getattr(type(callback), name, None) not in (None, getattr(Callback, name)) for name in ("on_step", "on_rollout_end")]
        self.each_step = any(own)

    def tell(self, agent: Any, event: str, *details: Any) -> Any:
        method = getattr(self.callback, f"on_{event}", None)
        return method(agent, *details) if method is not None else None


class OfFunction:
    """A function of the agent, or of Stable-Baselines3's two dictionaries, called at every step."""

    each_step = True

    def __init__(self, function: Any):
        taken = [
            one
            for one in inspect.signature(function).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is one.empty
        ]
        self.function, self.of_two = function, len(taken) == 2

    def tell(self, agent: Any, event: str, *details: Any) -> Any:
        if event != "step":
            return None
        return self.function({"self": agent}, {}) if self.of_two else self.function(agent)


class OfBaselines:
    """A callback of Stable-Baselines3."""

    each_step = True

    def __init__(self, callback: Any):
        self.callback = callback
        self.infos: list[dict[str, Any]] = []
        self.collecting = False

    def tell(self, agent: Any, event: str, *details: Any) -> Any:
        callback = self.callback
        if event == "train_start":
            callback.init_callback(agent)
            callback.on_training_start({"self": agent, "infos": []}, {})
        elif event == "episode":
            self.infos.append({"episode": details[0]})
        elif event == "step":
            if not self.collecting:
                self.collecting = True
                callback.on_rollout_start()
            callback.update_locals({"infos": self.infos})
            self.infos = []
            return callback.on_step()
        elif event == "rollout_end":
            self.collecting = False
            callback.on_rollout_end()
        elif event == "train_end":
            callback.on_training_end()
        return None
