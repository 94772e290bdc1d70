"""The tables of the engine: algorithms, environments and the keys of run files, read once."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from typing import Any

from . import _native
from ._names import class_name


@dataclass(frozen=True)
class AlgorithmSpec:
    """One algorithm."""

    name: str
    summary: str
    page: str = field(repr=False)
    #: Kinds of action spaces that it acts in.
    actions: tuple[str, ...]
    #: Its settings, as they are unless told otherwise.
    defaults: dict[str, Any] = field(repr=False)

    @property
    def class_name(self) -> str:
        return class_name(self.name)


@dataclass(frozen=True)
class EnvironmentSpec:
    """One native environment."""

    name: str
    summary: str
    max_episode_steps: int | None
    reward_threshold: float | None
    #: Options of its own, name and meaning.
    options: dict[str, str] = field(repr=False)


@functools.cache
def _algorithms() -> dict[str, AlgorithmSpec]:
    rows = json.loads(_native.algorithms())
    return {row["name"]: AlgorithmSpec(**{**row, "actions": tuple(row["actions"])}) for row in rows}


@functools.cache
def _environments() -> dict[str, EnvironmentSpec]:
    rows = json.loads(_native.environments())
    return {row["name"]: EnvironmentSpec(**{**row, "options": dict(row["options"])}) for row in rows}


def list_algorithms() -> list[str]:
    """The names of all algorithms, as run files write them."""
    return list(_algorithms())


def list_algorithm_specs() -> list[AlgorithmSpec]:
    """All algorithms."""
    return list(_algorithms().values())


def get_algorithm_spec(name: str) -> AlgorithmSpec:
    """The algorithm of that name."""
    return find("algorithm", name, _algorithms())


def list_environments() -> list[str]:
    """The names of the native environments."""
    return list(_environments())


def get_environment_spec(name: str) -> EnvironmentSpec:
    """The native environment of that name."""
    return find("environment", name, _environments())


def is_native(name: str) -> bool:
    """Whether there is a native environment of that name."""
    return name in _environments()


def find(kind: str, name: str, known: dict[str, Any]) -> Any:
    if name in known:
        return known[name]
    raise KeyError(f"unknown {kind} {name!r}{did_you_mean(name, known)}")


def did_you_mean(name: str, known: Any) -> str:
    """The nearest name, for messages."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


@functools.cache
def schema(algo: str) -> dict[str, Any]:
    """The JSON Schema of an algorithm's run files."""
    return json.loads(_native.schema(algo))
