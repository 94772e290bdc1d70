"""Gymnasium's spaces in the words of the engine: what a row of numbers looks like, and how it is written and read.

An observation is laid out in two blocks, one of float32 and one of bytes, its parts in the order of the space. An action is
a row of float32 in the environment's own units; choices are whole numbers from 0.
"""

from __future__ import annotations

import math

import numpy as np


class EnvironmentFailed(Exception):
    """Whatever went wrong with environments; the environment's own exception, if there is one, is the cause."""

    def __init__(self, message, env=None, raised=False, unknown=False):
        super().__init__(message)
        self.message = message
        # Whether code of the user's raised something, whose traceback is of interest.
        self.raised = raised
        # Whether there is no environment of that name.
        self.unknown = unknown
        # Which one of a batch, where that is known.
        self.env = env

    def __str__(self):
        return self.message if self.env is None else f"environment {self.env}: {self.message}"


def spaces_module():
    from gymnasium import spaces

    return spaces


class Leaf:
    """One part of an observation: the way to it, what it must look like, and its columns."""

    def __init__(self, path, shape, dtype, *, layout=None, axes=None, sizes=None, start=0):
        self.path = path
        self.name = "/".join(str(key) for key in path)
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.is_bytes = self.dtype == np.uint8 and sizes is None
        # How it lies in memory, and which of these axes is which of the environment's.
        self.layout = tuple(layout if layout is not None else shape)
        self.axes = axes
        # For choices: how many of each there are, and the number of the first.
        self.sizes = None if sizes is None else np.asarray(sizes, dtype=np.int64)
        self.start = np.asarray(start, dtype=np.int64)
        self.columns = slice(0, 0)
        # What can be copied as it comes, without a look at its numbers.
        self.plain = sizes is None

    def width(self):
        return math.prod(self.layout)

    def view(self, rows):
        """Rows of a block (or one of them) as the environment would shape this part."""
        own = rows[..., self.columns]
        batch = own.shape[:-1]
        view = own.reshape(batch + self.layout)
        if self.axes is not None:
            view = view.transpose(tuple(range(len(batch))) + tuple(len(batch) + axis for axis in self.axes))
        return view.reshape(batch + self.shape) if view.shape != batch + self.shape else view

    def of(self, value):
        for key in self.path:
            value = value[key]
        return value

    def fit(self, value, batch=()):
        """The value as numbers that can be written, or an error that says what is wrong with it."""
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise EnvironmentFailed(f"{self.called()} is no array: {error}") from error
        shape = tuple(batch) + self.shape
        if array.shape != shape:
            raise EnvironmentFailed(f"{self.called()} has shape {array.shape} but its space says {shape}")
        if self.is_bytes and array.dtype != np.uint8:
            raise EnvironmentFailed(f"{self.called()} is {array.dtype} but its space says uint8; make it bytes, 0 to 255")
        if array.dtype.kind not in "fiub":
            raise EnvironmentFailed(f"{self.called()} is {array.dtype}, which are no numbers")
        if self.sizes is not None:
            array = array - self.start
            if ((array < 0) | (array >= self.sizes) | (array != np.floor(array))).any():
                raise EnvironmentFailed(f"{self.called()} is {value!r}, which is none of the choices of its space")
        return array

    def called(self):
        return f"the observation's part `{self.name}`" if self.name else "the observation"


class Observations:
    """How observations of a space are described, and where their parts go."""

    def __init__(self, space):
        self.leaves = []
        self.json = self._add(space, ())
        self.floats = self._lay_out(False)
        self.bytes = self._lay_out(True)
        if self.floats + self.bytes == 0:
            raise EnvironmentFailed(f"the observation space {space} shows nothing")

    def is_plain(self):
        """Whether it is one array of floats, in a row as it comes."""
        leaf = self.leaves[0]
        return len(self.leaves) == 1 and not leaf.path and leaf.plain and len(leaf.shape) == 1 and leaf.dtype == np.float32

    def _lay_out(self, is_bytes):
        end = 0
        for leaf in self.leaves:
            if leaf.is_bytes == is_bytes:
                leaf.columns = slice(end, end + leaf.width())
                end = leaf.columns.stop
        return end

    def _add(self, space, path):
        spaces = spaces_module()
        if isinstance(space, spaces.Box):
            return self._add_box(space, path)
        if isinstance(space, spaces.Discrete):
            n, start = int(space.n), int(space.start)
            self.leaves.append(Leaf(path, (), np.int64, layout=(1,), sizes=n, start=start))
            return {"type": "discrete", "n": n}
        if isinstance(space, spaces.MultiDiscrete):
            nvec = np.asarray(space.nvec)
            start = np.asarray(getattr(space, "start", 0))
            layout = (nvec.size,)
            self.leaves.append(Leaf(path, nvec.shape, np.int64, layout=layout, sizes=nvec, start=start))
            return {"type": "multi_discrete", "nvec": nvec.reshape(-1).tolist()}
        if isinstance(space, spaces.MultiBinary):
            n = math.prod(space.shape)
            self.leaves.append(Leaf(path, space.shape, np.int64, layout=(n,), sizes=2))
            return {"type": "multi_binary", "n": n}
        if isinstance(space, (spaces.Dict, spaces.Tuple)):
            # A Dict keeps its own order: keys given as arguments are not sorted.
            inner = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
            return {"type": "dict", "entries": [[str(key), self._add(part, (*path, key))] for key, part in inner]}
        raise EnvironmentFailed(unknown_space("observation", space, path))

    def _add_box(self, space, path):
        shape, layout, axes = tuple(space.shape), tuple(space.shape), None
        low, high = np.asarray(space.low), np.asarray(space.high)
        if space.dtype == np.uint8:
            if len(shape) == 4 and shape[0] == 1:
                # A stack of one frame.
                layout = shape[1:]
            elif len(shape) == 3 and shape[0] < min(shape[1:]):
                # Channels first; the engine has them last. Axis `k` of the environment is axis `axes[k]` in memory.
                layout, axes = (shape[1], shape[2], shape[0]), (2, 0, 1)
                low, high = low.transpose(1, 2, 0), high.transpose(1, 2, 0)
            elif len(shape) == 2:
                layout = (*shape, 1)
        layout = layout or (1,)
        self.leaves.append(Leaf(path, shape, space.dtype, layout=layout, axes=axes))
        kind = "u8" if space.dtype == np.uint8 else "f32"
        return {"type": "box", "shape": list(layout), "low": bounds(low), "high": bounds(high), "dtype": kind}

    def row_writer(self, floats, octets):
        """A function that writes an observation to row `i` of these blocks."""
        leaves = [(leaf, leaf.view(octets if leaf.is_bytes else floats)) for leaf in self.leaves]
        rows = range(len(floats))
        if len(leaves) == 1 and not leaves[0][0].path and leaves[0][0].plain:
            leaf, block = leaves[0]
            views, shape, dtype, fit, array = [block[i] for i in rows], leaf.shape, leaf.dtype, leaf.fit, np.ndarray
            if not shape:
                views = [block[i : i + 1].reshape(()) for i in rows]

            def write_one(i, obs):
                if type(obs) is array and obs.shape == shape and obs.dtype is dtype:
                    views[i][...] = obs
                else:
                    views[i][...] = fit(obs)

            return write_one

        def write(i, obs):
            for leaf, block in leaves:
                try:
                    value = leaf.of(obs)
                except (KeyError, IndexError, TypeError) as error:
                    raise EnvironmentFailed(f"{leaf.called()} is missing from what the environment shows") from error
                block[i] = leaf.fit(value)

        return write

    def batch_writer(self, floats, octets):
        """A function that writes a batch of observations, as vector environments give them."""
        leaves = [(leaf, leaf.view(octets if leaf.is_bytes else floats)) for leaf in self.leaves]
        batch = (len(floats),)

        def write(obs):
            for leaf, block in leaves:
                block[...] = leaf.fit(leaf.of(obs), batch)

        return write

    def culprit(self, row):
        """Which part of a row of floats has a number that is none."""
        for leaf in self.leaves:
            if not leaf.is_bytes:
                bad = np.flatnonzero(~np.isfinite(row[leaf.columns]))
                if bad.size:
                    return f"{leaf.called()} is {row[leaf.columns][bad[0]]} at place {bad[0]}"
        return "the observation is not finite"


class Actions:
    """How actions of a space are described, and how rows of numbers become actions."""

    def __init__(self, space):
        spaces = spaces_module()
        # The number of the first choice, where that is not 0.
        self.start = None
        if isinstance(space, spaces.Discrete):
            self.width, self.masks, self.start = 1, int(space.n), int(space.start)
            self.json = {"type": "discrete", "n": int(space.n)}
            self.each, self.batch = self._choices, self._choice_batch
            return
        if isinstance(space, spaces.Box):
            self._box(space)
        elif isinstance(space, spaces.MultiDiscrete):
            nvec = np.asarray(space.nvec)
            self.start = np.asarray(getattr(space, "start", 0), dtype=space.dtype)
            self.width, self.masks = nvec.size, int(nvec.sum())
            self.json = {"type": "multi_discrete", "nvec": nvec.reshape(-1).tolist()}
        elif isinstance(space, spaces.MultiBinary):
            self.width = math.prod(space.shape)
            self.masks = 2 * self.width
            self.json = {"type": "multi_binary", "n": self.width}
        elif isinstance(space, (spaces.Dict, spaces.Tuple)):
            kind = type(space).__name__
            remedy = "wrap the environment so that its actions are one Box, Discrete, MultiDiscrete or MultiBinary"
            raise EnvironmentFailed(f"{kind} actions are not supported; {remedy}")
        else:
            raise EnvironmentFailed(unknown_space("action", space, ()))
        self.shape, self.dtype = tuple(space.shape), space.dtype
        self.each, self.batch = self._arrays, self._array_batch

    def _box(self, space):
        low, high = np.asarray(space.low, dtype=np.float32), np.asarray(space.high, dtype=np.float32)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise EnvironmentFailed(
                "its actions have no finite bounds, and agents act between -1 and 1, which is mapped to them; give the action "
                "space finite `low` and `high`, in the environment or in a wrapper (a `ClipAction` removes them: leave it out)"
            )
        self.width, self.masks = math.prod(space.shape), 0
        shape = list(space.shape) or [1]
        self.json = {"type": "box", "shape": shape, "low": bounds(low), "high": bounds(high), "dtype": "f32"}

    def is_plain(self):
        """Whether an action is one choice, or a row of floats."""
        return self.json["type"] == "discrete" or (
            self.json["type"] == "box" and len(self.shape) == 1 and self.dtype == np.float32
        )

    def _choice_batch(self, actions):
        return actions[:, 0].astype(np.int64) + self.start

    def _choices(self, actions):
        # Plain ints: some environments look their actions up in dictionaries.
        return self._choice_batch(actions).tolist()

    def _array_batch(self, actions):
        # Fresh memory, since environments may keep what they are given.
        whole = np.rint(actions) if self.dtype.kind in "iu" else actions
        array = whole.reshape((len(actions), *self.shape)).astype(self.dtype)
        return array if self.start is None else array + self.start

    def _arrays(self, actions):
        return list(self._array_batch(actions))


def bounds(values):
    """Bounds as JSON has them: no number where there is no bound."""
    with np.errstate(over="ignore"):
        numbers = np.asarray(values).astype(np.float32).reshape(-1).tolist()
    return [number if math.isfinite(number) else None for number in numbers]


def unknown_space(what, space, path):
    place = f" `{'/'.join(map(str, path))}`" if path else ""
    return (
        f"its {what}{place} is of the space {type(space).__name__}, which is not supported; wrap the environment so that it is "
        "made of Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple"
    )
