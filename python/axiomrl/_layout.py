"""From observations to the rows that a policy takes, and from its rows to actions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


class Layout:
    """What one policy is shown and what it answers."""

    def __init__(self, text: str):
        described = json.loads(text)
        self.spaces = described["spaces"]
        self.parts = described["observation"]["parts"]
        self.widths = described["observation"]["widths"]
        self.memory = described.get("memory", 0)
        self.action = self.spaces["action"]
        self.masks = self.spaces["masks"]

    def rows(self, observation: Any) -> tuple[np.ndarray, np.ndarray, bool]:
        """Numbers and bytes of each row, and whether there were several."""
        values = list(leaves(self.spaces["observation"], observation, ""))
        batched, count = None, 1
        floats, bytes_ = [], []
        for part, (space, value) in zip(self.parts, values):
            array = np.asarray(value)
            shape = value_shape(space)
            rows = as_rows(array, shape, part["name"] or "observation")
            several = array.size != int(np.prod(shape, dtype=int)) or array.ndim > len(shape)
            if batched is not None and (several != batched or len(rows) != count):
                raise ValueError("some parts of the observation are of one row and others of several")
            batched, count = several, len(rows)
            if part["kind"] == "U8":
                bytes_.append(pixels(rows, part["name"]))
            else:
                floats.append(numbers(rows, part["kind"], part["name"]))
        return joined(floats, count, np.float32), joined(bytes_, count, np.uint8), bool(batched)

    def mask_rows(self, masks: Any, count: int) -> np.ndarray | None:
        """Which choices are allowed in each row."""
        if masks is None:
            return None
        if not self.masks:
            raise ValueError("this policy takes no masks: only those do that were trained with masks; leave them out")
        masks = np.asarray(masks, dtype=bool)
        if masks.size != count * self.masks:
            raise ValueError(f"{masks.size} entries in the masks of {count} rows, each of which has {self.masks}")
        return np.ascontiguousarray(masks.reshape(count, self.masks))

    def observations(self, floats: np.ndarray, bytes_: np.ndarray, count: int) -> Any:
        """Rows as `rows` made them of observations, as Gymnasium has them."""
        blocks = {True: bytes_.reshape(count, -1), False: floats.reshape(count, -1)}
        parts = iter(self.parts)

        def one(space: dict[str, Any]) -> Any:
            if space["type"] == "dict":
                return {name: one(inner) for name, inner in space["entries"]}
            part = next(parts)
            found = blocks[part["kind"] == "U8"][:, part["at"]["start"] : part["at"]["end"]]
            return found.reshape((count, *value_shape(space))).astype(value_type(space))

        return one(self.spaces["observation"])

    def action_rows(self, action: np.ndarray, count: int, batched: bool) -> np.ndarray:
        """Actions, one for each of so many rows, as the engine takes them."""
        shape = value_shape(self.action)
        wanted = (count, *shape) if batched else shape
        # A choice may have an axis of its own, as stores of others have it.
        if action.shape != wanted and (shape or action.shape != (*wanted, 1)):
            raise ValueError(f"`action` has the shape {action.shape} where {wanted} belongs")
        return np.ascontiguousarray(action.reshape(count, -1), np.float32)

    def actions(self, numbers: np.ndarray, count: int, batched: bool) -> np.ndarray:
        """Actions as Gymnasium has them."""
        actions = numbers.reshape((count, *value_shape(self.action))).astype(value_type(self.action))
        return actions if batched else actions[0]


def value_shape(space: dict[str, Any]) -> tuple[int, ...]:
    """The shape of one value."""
    kind = space["type"]
    if kind == "box":
        return tuple(space["shape"])
    if kind == "discrete":
        return ()
    return (len(space["nvec"]),) if kind == "multi_discrete" else (space["n"],)


def value_type(space: dict[str, Any]) -> Any:
    """The type of its numbers."""
    if space["type"] == "box" and space["dtype"] == "u8":
        return np.uint8
    return {"box": np.float32, "multi_binary": np.int8}.get(space["type"], np.int64)


def leaves(space: dict[str, Any], value: Any, name: str):
    """The plain spaces within a space, each with its value."""
    if space["type"] != "dict":
        yield space, value
        return
    if not isinstance(value, dict):
        raise ValueError(f"{name or 'the observation'} has named parts; give a dictionary")
    names = [key for key, _ in space["entries"]]
    for unknown in value.keys() - set(names):
        raise ValueError(f"{name or 'an observation'} has no part {unknown!r}; its parts are {', '.join(names)}")
    for key, inner in space["entries"]:
        if key not in value:
            raise ValueError(f"the part {key!r} of {name or 'the observation'} is missing")
        yield from leaves(inner, value[key], key)


def as_rows(array: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    """One row for each value, whether one was given or several."""
    own = array.shape[array.ndim - len(shape) :] if len(shape) else ()
    if own != shape and len(shape) == 3 and own == (shape[2], shape[0], shape[1]):
        # Images with their channels first, as PyTorch has them.
        array, own = np.moveaxis(array, -3, -1), shape
    if own != shape and len(shape) == 3 and shape[2] == 1 and array.shape[-2:] == shape[:2]:
        # Grey images need no axis for their one channel.
        array, own = array[..., None], shape
    if own != shape or array.ndim > len(shape) + 1 or array.ndim < len(shape):
        raise ValueError(f"the {name} has the shape {shape}, alone or with rows before it, not {array.shape}")
    return array.reshape((-1, int(np.prod(shape, dtype=int))) if array.ndim > len(shape) else (1, -1))


def pixels(rows: np.ndarray, name: str) -> np.ndarray:
    if rows.dtype != np.uint8 and (rows.size == 0 or rows.min() < 0 or rows.max() > 255 or (rows != np.floor(rows)).any()):
        raise ValueError(f"the pixels of {name or 'the observation'} are whole numbers from 0 to 255")
    return rows.astype(np.uint8)


def numbers(rows: np.ndarray, kind: Any, name: str) -> np.ndarray:
    rows = rows.astype(np.float32)
    if not np.isfinite(rows).all():
        raise ValueError(f"{name or 'the observation'} holds what is not a finite number")
    if isinstance(kind, dict):
        choices = np.asarray(kind["OneHot"])
        if ((rows < 0) | (rows >= choices) | (rows != np.floor(rows))).any():
            raise ValueError(f"{name or 'the observation'} is of choices, whole numbers below {choices.tolist()}")
    return rows


def joined(columns: list[np.ndarray], count: int, dtype: Any) -> np.ndarray:
    if not columns:
        return np.zeros((count, 0), dtype)
    return np.ascontiguousarray(np.concatenate(columns, axis=1) if len(columns) > 1 else columns[0], dtype)
