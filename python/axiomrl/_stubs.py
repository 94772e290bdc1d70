"""Writes `__init__.pyi`: the classes are made of the table of algorithms, and type checkers read files.

    python -m axiomrl._stubs [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ._config import RUN_KEYS
from ._keywords import python_name
from ._names import ALIASES
from ._registry import AlgorithmSpec, get_algorithm_spec, list_algorithm_specs, schema

HEAD = '''# Written by `python -m axiomrl._stubs` of the table of algorithms; do not edit.
import os
from typing import Any, Literal, Sequence

from . import callbacks as callbacks
from . import gym as gym
from ._config import TrainConfig as TrainConfig
from ._dataset import Dataset as Dataset
from ._managed import ManagedAlgorithm as ManagedAlgorithm
from ._managed import load as load
from ._managed import make as make
from ._native import CheckpointError as CheckpointError
from ._native import Diverged as Diverged
from ._policy import Policy as Policy
from ._policy import evaluate_checkpoint as evaluate_checkpoint
from ._policy import load_policy as load_policy
from ._policy import predict_checkpoint as predict_checkpoint
from ._registry import AlgorithmSpec as AlgorithmSpec
from ._registry import EnvironmentSpec as EnvironmentSpec
from ._registry import get_algorithm_spec as get_algorithm_spec
from ._registry import get_environment_spec as get_environment_spec
from ._registry import list_algorithm_specs as list_algorithm_specs
from ._registry import list_algorithms as list_algorithms
from ._registry import list_environments as list_environments
from ._zoo import from_sb3_zoo as from_sb3_zoo
from .callbacks import BaseCallback as BaseCallback
from .callbacks import Callback as Callback

__version__: str

# A number, or how it changes from the first step to the last: {"linear": [3e-4, 0.0]}.
Schedule = float | dict[str, Any]
# The name of an environment, an environment, a function that makes one, or a batch of them.
Environment = Any
'''


def kind(root: dict[str, Any], part: Any) -> str:
    """The type of a setting."""
    reference = part.get("$ref", "")
    if reference.endswith("/Schedule"):
        return "Schedule"
    if reference:
        return kind(root, root["$defs"][reference.removeprefix("#/$defs/")])
    either = part.get("oneOf") or part.get("anyOf")
    if either:
        return union(kind(root, one) for one in either)
    words = part.get("enum") or ([part["const"]] if "const" in part else None)
    if words:
        return f"Literal[{', '.join(map(repr, words))}]"
    names = part.get("type")
    return union(plain(root, part, name) for name in (names if isinstance(names, list) else [names]))


def plain(root: dict[str, Any], part: dict[str, Any], name: str | None) -> str:
    if name == "array":
        return f"Sequence[{kind(root, part.get('items', {}))}]"
    known = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "null": "None", "object": "dict[str, Any]"}
    return known.get(name or "", "Any")


def union(kinds: Any) -> str:
    """Without repetitions, words together, None last."""
    found = list(dict.fromkeys(one for kind in kinds for one in alternatives(kind)))
    words = [one[len("Literal[") : -1] for one in found if one.startswith("Literal[")]
    others = [one for one in found if not one.startswith("Literal[") and one != "None"]
    literal = [f"Literal[{', '.join(words)}]"] if words else []
    return " | ".join([*literal, *others, *(["None"] if "None" in found else [])])


def alternatives(kind: str) -> list[str]:
    """The parts of a union, which may be one itself; what stands in brackets belongs together."""
    parts, depth = [""], 0
    for letter in kind:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def klass(spec: AlgorithmSpec) -> str:
    root = schema(spec.name)
    own = root["properties"]["algo_kwargs"]["$ref"].removeprefix("#/$defs/")
    properties = root["$defs"][own]["properties"]
    lines = [f"class {spec.class_name}(ManagedAlgorithm):", f'    """{spec.summary}."""', "", "    def __init__(", "        self,"]
    lines += ["        env: Environment = ...,", "        *,"]
    for name, default in spec.defaults.items():
        lines.append(f"        {python_name(name)}: {kind(root, properties[name])} = {default!r},")
    for name in RUN_KEYS:
        if name not in spec.defaults:
            lines.append(f"        {name}: {RUN_KEYS[name].type} = ...,")
    lines += ["        run_dir: str | os.PathLike[str] | None = ...,", "        native: bool = ...,", "    ) -> None: ..."]
    return "\n".join(lines)


def text() -> str:
    """The whole file."""
    classes = [klass(spec) for spec in list_algorithm_specs()]
    aliases = [f"{alias} = {get_algorithm_spec(algo).class_name}" for alias, algo in ALIASES.items()]
    return "\n\n".join([HEAD.rstrip(), *classes, "\n".join(aliases)]) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("__init__.pyi")
    target.write_text(text())
