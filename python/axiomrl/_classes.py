"""The classes themselves, made of the table of algorithms."""

from __future__ import annotations

import copy
from inspect import Parameter, Signature
from typing import Any

from ._config import RUN_KEYS, run_default
from ._keywords import python_name
from ._managed import CLASSES, ManagedAlgorithm
from ._names import ALIASES
from ._registry import AlgorithmSpec, list_algorithm_specs


def signature(spec: AlgorithmSpec) -> Signature:
    """The environment, then keywords: the algorithm's settings, then what every run has."""
    one = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    env = Parameter("env", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    settings = [
        Parameter(python_name(name), Parameter.KEYWORD_ONLY, default=copy.deepcopy(value))
        for name, value in spec.defaults.items()
    ]
    others = [Parameter(name, Parameter.KEYWORD_ONLY, default=run_default(name)) for name in RUN_KEYS if name not in spec.defaults]
    run_dir = Parameter("run_dir", Parameter.KEYWORD_ONLY, default=None)
    native = Parameter("native", Parameter.KEYWORD_ONLY, default=True)
    return Signature([one, env, *settings, *others, run_dir, native])


def made(spec: AlgorithmSpec) -> type[ManagedAlgorithm]:
    def __init__(self: Any, env: Any = None, *rest: Any, **settings: Any) -> None:
        ManagedAlgorithm.__init__(self, env, *rest, **settings)

    __init__.__signature__ = signature(spec)  # type: ignore[attr-defined]
    page = spec.page.strip()
    doc = f"{spec.summary}. Acts in spaces of the kinds {', '.join(spec.actions)}.\n\n{page}"
    body = {"__init__": __init__, "__doc__": doc, "__module__": "axiomrl", "algo": spec.name}
    return type(spec.class_name, (ManagedAlgorithm,), body)


for _spec in list_algorithm_specs():
    CLASSES[_spec.name] = made(_spec)

#: Every name that a class is known by.
NAMES: dict[str, type[ManagedAlgorithm]] = {kind.__name__: kind for kind in CLASSES.values()}
NAMES.update({alias: CLASSES[algo] for alias, algo in ALIASES.items()})
