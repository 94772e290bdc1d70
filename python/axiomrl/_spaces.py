"""Spaces of the engine as Gymnasium's."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_gymnasium(space: dict[str, Any]) -> Any:
    """The same space in Gymnasium's terms."""
    from gymnasium import spaces

    kind = space["type"]
    if kind == "box":
        shape = tuple(space["shape"])
        dtype = np.uint8 if space["dtype"] == "u8" else np.float32
        # JSON has no infinity: where there is no number there is no bound.
        low = np.array([-np.inf if bound is None else bound for bound in space["low"]], dtype).reshape(shape)
        high = np.array([np.inf if bound is None else bound for bound in space["high"]], dtype).reshape(shape)
        return spaces.Box(low, high, shape, dtype)
    if kind == "discrete":
        return spaces.Discrete(space["n"])
    if kind == "multi_discrete":
        return spaces.MultiDiscrete(space["nvec"])
    if kind == "multi_binary":
        return spaces.MultiBinary(space["n"])
    return spaces.Dict([(key, to_gymnasium(inner)) for key, inner in space["entries"]])
