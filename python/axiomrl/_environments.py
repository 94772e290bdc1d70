"""What an agent may be given as its environment, and who makes batches of it for the engine.

A name of the engine's own environments is stepped by the engine. Anything else is Gymnasium's: an id, an environment, a function
that makes one, or a vector environment, stepped in this process.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from . import _registry
from ._bridge import Batch

#: Environments that are evaluated together. They step as a whole, so those that are done would only cost time.
EVALUATED_TOGETHER = 8

#: What the engine's own environments are called in Gymnasium's registry.
NAMESPACE = "axiomrl/"

#: Wrappers that Gymnasium puts round every environment.
USUAL = {"PassiveEnvChecker", "OrderEnforcing", "TimeLimit"}


class Maker:
    """Makes batches for the engine."""

    #: What files call the environment.
    name: str

    def open(self, n: int, purpose: str, options: str, action_repeat: int) -> Batch:
        """`n` environments; `options` is JSON."""
        raise NotImplementedError

    def lanes(self, purpose: str, wanted: int) -> int:
        """How many there are, where so many are wanted."""
        return min(wanted, EVALUATED_TOGETHER) if purpose == "evaluation" else wanted

    def done(self, batch: Batch) -> None:
        """A batch is not needed any more."""
        batch.close()


class OfId(Maker):
    """An id of Gymnasium's, also `module:Id`."""

    def __init__(self, env_id: str):
        self.name = env_id

    def open(self, n, purpose, options, action_repeat):
        return Batch.from_id(self.name, n, json.loads(options), purpose=purpose, action_repeat=action_repeat)


class OfFunction(Maker):
    """A function that makes an environment."""

    def __init__(self, make: Any, name: str | None = None):
        self.make = make
        self.name = name or tame(getattr(make, "__qualname__", type(make).__name__).replace("<lambda>", "Custom"))

    def open(self, n, purpose, options, action_repeat):
        refuse_options(options)
        return Batch(self.make, n, purpose=purpose, action_repeat=action_repeat)


class OfObject(Maker):
    """An environment, or a batch of them, that is there already: it is trained in and never closed. Evaluations are played in
    others of its kind, where Gymnasium knows how to make them or they can be copied; else there are none."""

    def __init__(self, env: Any, count: int):
        self.env, self.count = env, count
        self.name = tame(spec_id(env) or type(getattr(env, "unwrapped", env)).__name__)
        self.another = other_of(env)
        #: Batches of others, which are ours to close.
        self.others: list[Batch] = []

    def open(self, n, purpose, options, action_repeat):
        refuse_options(options)
        if purpose == "evaluation":
            self.others.append(Batch(self.another, n, purpose=purpose, action_repeat=action_repeat))
            return self.others[-1]
        return Batch(self.env, n, purpose=purpose, action_repeat=action_repeat)

    def lanes(self, purpose, wanted):
        if purpose == "training":
            return self.count
        return min(wanted, EVALUATED_TOGETHER) if self.another is not None else 0

    def done(self, batch):
        if any(batch is other for other in self.others):
            self.others = [other for other in self.others if other is not batch]
            batch.close()


def other_of(env: Any) -> Any:
    """A function that makes another environment of the same kind, if there is a way."""
    import gymnasium

    spec = getattr(env, "spec", None)
    if spec is not None:
        return lambda: gymnasium.make(spec)
    if isinstance(env, gymnasium.vector.VectorEnv):
        return None
    try:
        pattern = copy.deepcopy(env)
    except Exception:
        return None
    return lambda: copy.deepcopy(pattern)


def refuse_options(options: str) -> None:
    for key in json.loads(options):
        raise ValueError(f"env_kwargs has {key!r}, but the environment is made already; give its options where it is made")


def spec_id(env: Any) -> str | None:
    spec = getattr(env, "spec", None)
    return None if spec is None else spec.id


def tame(name: str) -> str:
    """A name that files can have."""
    return re.sub(r"[^A-Za-z0-9_.:/-]+", "-", name).strip("-") or "Custom"


def of_id(name: str) -> Maker | None:
    """Who makes what is in no table of the engine's; asked by the engine itself."""
    looks_like_one = re.search(r"-v\d+$", name) or "/" in name or ":" in name
    return OfId(name) if looks_like_one else None


def native_name(env: Any) -> str | None:
    """The engine's own environment that is the same as this one, if there is."""
    if isinstance(env, str):
        name = env.removeprefix(NAMESPACE)
        return name if _registry.is_native(name) else None
    spec = getattr(env, "spec", None)
    if spec is None or spec.additional_wrappers or set(spec.kwargs) - {"render_mode", "name"}:
        return None
    name = spec.id.removeprefix(NAMESPACE)
    ours = type(env.unwrapped).__module__.split(".")[0] in ("gymnasium", "axiomrl")
    return name if ours and _registry.is_native(name) and wrapped_as_usual(env, name) else None


def wrapped_as_usual(env: Any, name: str) -> bool:
    import gymnasium

    if not isinstance(env, gymnasium.Env):
        return False
    inner: Any = env
    while inner is not inner.unwrapped:
        if type(inner).__name__ not in USUAL:
            return False
        inner = inner.env
    limit = _registry.get_environment_spec(name).max_episode_steps
    return inner.spec is None or inner.spec.max_episode_steps in (None, limit)


def understood(env: Any, native: bool, count: int | None) -> tuple[str, Maker | None, int | None]:
    """The name that files have for an environment, who makes it if the engine does not know, and how many there must be."""
    import gymnasium

    name = native_name(env)
    if name is not None and native:
        return name, None, None
    if isinstance(env, str):
        env_id = env.removeprefix(NAMESPACE) if name is not None else env
        # The engine's own would be found first.
        return (f"gymnasium:{env_id}" if name is not None else env_id), None, None
    maker: Maker
    if isinstance(env, gymnasium.vector.VectorEnv):
        maker, count = OfObject(env, env.num_envs), env.num_envs
    elif isinstance(env, gymnasium.Env):
        if count not in (None, 1):
            raise ValueError(f"one environment cannot be num_envs={count}; hand over a function that makes one")
        maker, count = OfObject(env, 1), 1
    elif callable(env):
        maker, count = OfFunction(env), None
    else:
        words = "an id, an environment of Gymnasium, a function that makes one or a vector environment"
        raise TypeError(f"{env!r} is no environment; give {words}")
    if _registry.is_native(maker.name):
        maker.name = f"Custom/{maker.name}"
    return maker.name, maker, count
