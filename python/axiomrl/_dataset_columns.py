"""Arrays of recorded steps: what is wrong with them, and where episodes end."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

#: Rows that differ by more than this in length belong to different episodes, as the engine has it.
SAME = 1e-6

#: Rows that are compared at a time.
PIECE = 1024

Arrays = dict[str, np.ndarray]


def array(name: str, value: Any) -> np.ndarray:
    """Numbers in the types that files have."""
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.asarray(value, dtype=object)
    kinds = {"f": np.float32, "i": np.int64, "u": np.int64, "b": np.int8}
    if found.dtype.kind not in kinds:
        raise ValueError(f"`{name}` is of type {found.dtype}; give one array of numbers, all rows of the same shape")
    if found.ndim == 0:
        raise ValueError(f"`{name}` is a single number; give one row for each step")
    if found.dtype == np.uint8:
        return found
    plain = found.astype(kinds[found.dtype.kind], copy=False)
    if plain.dtype.kind == "f" and not np.isfinite(plain).all():
        row = next(row for row, numbers in enumerate(plain) if not np.isfinite(numbers).all())
        bad = next(number for number in plain[row].ravel() if not np.isfinite(number))
        raise ValueError(f"`{name}` is {bad} in row {row}; leave out the episode it belongs to, or mend it")
    return plain


def observation(key: str, name: str, value: Any) -> Arrays:
    """Arrays by the keys of files: one, or one for each named part."""
    if not isinstance(value, Mapping):
        return {key: array(name, value)}
    if not value:
        raise ValueError(f"`{name}` has no parts; give an array, or a dictionary of arrays")
    return {f"{key}/{part}": array(f"{name}[{part!r}]", one) for part, one in value.items()}


def numbers(name: str, value: Any) -> np.ndarray:
    """One number for each step."""
    found = array(name, value)
    if found.size != len(found):
        raise ValueError(f"`{name}` has rows of shape {found.shape[1:]}; give one number for each step")
    return found.reshape(-1).astype(np.float32)


def marks(name: str, value: Any) -> np.ndarray:
    """True or false for each step."""
    found = numbers(name, value)
    odd = np.flatnonzero((found != 0) & (found != 1))
    if odd.size:
        raise ValueError(f"`{name}` is {found[odd[0]]:g} in row {odd[0]}; it says whether an episode ends there: true or false")
    return found.astype(bool)


def check_rows(columns: Arrays, names: Mapping[str, str]) -> int:
    """How many steps there are, the same in every array."""
    first = next(iter(columns))
    rows = len(columns[first])

    def called(key: str) -> str:
        whole, slash, part = key.partition("/")
        return names.get(whole, whole) + (f"[{part!r}]" if slash else "")

    if rows == 0:
        raise ValueError(f"`{called(first)}` is empty; record at least one step")
    for key, column in columns.items():
        if len(column) != rows:
            raise ValueError(f"`{called(key)}` has {len(column)} rows, where `{called(first)}` has {rows}; give one row for each step")
    for key in [key for key in columns if key.partition("/")[0] == "next_obs"]:
        before = key.removeprefix("next_")
        seen = columns.get(before)
        if seen is None or seen.shape != columns[key].shape:
            there = "is missing" if seen is None else f"has rows of shape {seen.shape[1:]}"
            here = f"`{called(key)}` has rows of shape {columns[key].shape[1:]}"
            raise ValueError(f"{here}, and `{called(before)}` {there}; give both the same shape")
    return rows


def ends_of(columns: Arrays) -> np.ndarray:
    """Whether each row is the last of its episode: by its marks, or because the following row does not go on from it."""
    ends = columns["terminations"] | columns["truncations"]
    ends[-1] = True
    seen = [key for key in columns if key.partition("/")[0] == "obs"]
    # In pieces, for images would need eight times their memory at once.
    for first in range(0, len(ends) - 1, PIECE):
        rows = slice(first, min(first + PIECE, len(ends) - 1))
        apart = np.zeros(rows.stop - first)
        for key in seen:
            following = columns[key][1:][rows]
            step = columns[f"next_{key}"][rows].astype(np.float64) - following
            apart += np.square(step.reshape(len(apart), -1)).sum(axis=1)
        ends[rows] |= np.sqrt(apart) > SAME
    return ends


def linked(columns: Arrays) -> tuple[Arrays, int]:
    """What each step led to, where only the rows themselves say it, and how many rows had to go.

    The observation of the row after a step is what it led to. Nobody knows what a step led to that the clock ended, nor the last
    one: they go, and the step before them is where the clock ended the episode. After a terminal step nothing counts.
    """
    terminated, truncated = columns["terminations"], columns["truncations"] & ~columns["terminations"]
    unknown = truncated.copy()
    unknown[-1] |= not terminated[-1]
    before = np.flatnonzero(unknown) - 1
    before = before[before >= 0]
    cut = truncated.copy()
    # Not where the row before is the end of another episode.
    cut[before[~(terminated | truncated)[before]]] = True
    after = np.minimum(np.arange(len(unknown)) + 1, len(unknown) - 1)
    after[terminated] = np.flatnonzero(terminated)
    kept = ~unknown
    whole = {**columns, "truncations": cut}
    for key in [key for key in columns if key.partition("/")[0] == "obs"]:
        whole[f"next_{key}"] = columns[key][after]
    return {key: column[kept] for key, column in whole.items()}, int(unknown.sum())
