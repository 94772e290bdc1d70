"""Recorded transitions: numpy in, numpy out, and `dataset=` of every algorithm that learns from them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ._dataset_columns import Arrays, array, check_rows, ends_of, linked, marks, numbers, observation

#: Keys of files, and what they are called here.
NAMES = {
    "obs": "observations",
    "next_obs": "next_observations",
    "action_masks": "action_masks",
    "next_action_masks": "next_action_masks",
}
#: The array of bytes in which the engine's own files say what spaces they are of.
DESCRIBED = "axiomrl"
#: What marks of last steps are called: the world's end, and the clock's.
ENDS = (("terminations", "truncations"), ("terminateds", "truncateds"), ("terminals", "timeouts"), ("dones", None))


class Dataset:
    """Steps that were recorded, a row for each. Made by `from_numpy`, `from_npz` or `from_minari`.

    >>> data = axiomrl.Dataset.from_npz("pendulum.npz")
    >>> axiomrl.IQL("Pendulum-v1", dataset=data).learn(20_000)
    """

    def __init__(self, columns: Arrays, described: np.ndarray | None = None):
        # Views of their own: what was handed over stays as writable as it was.
        self._columns = {key: column.view() for key, column in columns.items()}
        self._described = described
        for column in self._columns.values():
            column.setflags(write=False)
        self._ends = np.flatnonzero(ends_of(columns))

    # In

    @classmethod
    def from_numpy(
        cls,
        observations: Any,
        actions: Any,
        rewards: Any,
        terminations: Any,
        truncations: Any = None,
        next_observations: Any = None,
        *,
        action_masks: Any = None,
        next_action_masks: Any = None,
    ) -> Dataset:
        """Arrays with a row for each step, in the environment's own units. Observations of several parts are dictionaries.

        `terminations` marks the steps that ended the world, `truncations` those that the clock ended. Without `next_observations`
        the following row is what a step led to; steps of which that is not known are left out, and a warning counts them.
        """
        given = {"observations": observations, "actions": actions, "rewards": rewards, "terminations": terminations}
        for name, value in given.items():
            if value is None:
                raise ValueError(f"`{name}` is missing; give one row for each step")
        columns = {**observation("obs", "observations", observations), "actions": array("actions", actions)}
        columns["rewards"] = numbers("rewards", rewards)
        columns["terminations"] = marks("terminations", terminations)
        none = np.zeros(len(columns["terminations"]), bool)
        columns["truncations"] = none if truncations is None else marks("truncations", truncations)
        if next_observations is not None:
            columns |= observation("next_obs", "next_observations", next_observations)
        for name, masks in (("action_masks", action_masks), ("next_action_masks", next_action_masks)):
            if masks is not None:
                columns[name] = array(name, masks).astype(bool)
        if (action_masks is None) != (next_action_masks is None):
            raise ValueError("`action_masks` and `next_action_masks` come together; give both or neither")
        return cls._of(columns)

    @classmethod
    def _of(cls, columns: Arrays, described: np.ndarray | None = None) -> Dataset:
        check_rows(columns, NAMES)
        if not any(key.partition("/")[0] == "next_obs" for key in columns):
            columns, dropped = linked(columns)
            if dropped and not len(columns["rewards"]):
                raise ValueError("`next_observations` is missing, and no row says what the others led to; give it")
            if dropped:
                words = f"steps left out, as nothing says what they led to: {dropped}; give `next_observations` to keep them"
                warnings.warn(words, UserWarning, stacklevel=3)
        return cls(columns, described)

    @classmethod
    def from_npz(cls, path: str | os.PathLike[str]) -> Dataset:
        """A file of `numpy.savez`: `obs`, `actions`, `rewards`, `next_obs`, `terminations` and `truncations`, or with D4RL's names."""
        try:
            with open(path, "rb") as start:
                # Of other files numpy says that they could be loaded if they were trusted, which nobody should.
                if start.read(2) != b"PK":
                    raise ValueError("it does not begin like one")
            with np.load(path, allow_pickle=False) as file:
                found = {key: readable(file, key) for key in file.files}
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{os.fspath(path)} is no archive that can be read ({error}); write one with numpy.savez") from error
        try:
            return cls._of(*renamed(found))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    @classmethod
    def from_minari(cls, id_or_folder: str | os.PathLike[str]) -> Dataset:
        """A Minari dataset that is on this machine, by its id (`pendulum/expert-v0`) or its folder. Minari need not be installed."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.npz"
            words = ["-m", "axiomrl", "dataset", "convert", os.fspath(id_or_folder), os.fspath(path)]
            here = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
            done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": here})
            if done.returncode != 0:
                said = done.stderr.strip().removeprefix("error: ")
                raise ValueError(f"{said}; `minari download {os.fspath(id_or_folder)}` fetches one, `axiomrl dataset make` makes one")
            return cls.from_npz(path)

    # Out

    @property
    def observations(self) -> np.ndarray | dict[str, np.ndarray]:
        """What was seen before each step; a dictionary where it has named parts."""
        return self._parts("obs")

    @property
    def next_observations(self) -> np.ndarray | dict[str, np.ndarray]:
        """What each step led to."""
        return self._parts("next_obs")

    def _parts(self, key: str) -> np.ndarray | dict[str, np.ndarray]:
        if key in self._columns:
            return self._columns[key]
        return {name.partition("/")[2]: column for name, column in self._columns.items() if name.startswith(f"{key}/")}

    @property
    def actions(self) -> np.ndarray:
        """What was done, in the environment's units."""
        return self._columns["actions"]

    @property
    def rewards(self) -> np.ndarray:
        return self._columns["rewards"]

    @property
    def terminations(self) -> np.ndarray:
        """Whether the world ended with a step."""
        return self._columns["terminations"]

    @property
    def truncations(self) -> np.ndarray:
        """Whether the clock ended an episode with a step."""
        return self._columns["truncations"]

    @property
    def action_masks(self) -> np.ndarray | None:
        """Which choices were allowed, where that was recorded."""
        return self._columns.get("action_masks")

    @property
    def next_action_masks(self) -> np.ndarray | None:
        """Which choices were allowed after each step."""
        return self._columns.get("next_action_masks")

    @property
    def num_episodes(self) -> int:
        return len(self._ends)

    @property
    def episode_lengths(self) -> np.ndarray:
        """Steps of each episode."""
        return np.diff(self._ends, prepend=-1)

    @property
    def episode_returns(self) -> np.ndarray:
        """Sum of the rewards of each episode."""
        starts = np.concatenate([[0], self._ends[:-1] + 1])
        return np.add.reduceat(self.rewards.astype(np.float64), starts)

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        returns = self.episode_returns
        ended = f"{int(self.terminations.sum())} terminated"
        words = f"{len(self)} steps in {self.num_episodes} episodes ({ended}), returns {returns.mean():.1f} ± {returns.std():.1f}"
        told = [key for key in self._columns if key.partition("/")[0] in ("obs", "actions")]
        shapes = [f"{key} {self._columns[key].dtype}{list(self._columns[key].shape[1:])}" for key in told]
        return f"<axiomrl.Dataset: {words}; {', '.join(shapes)}>"

    # Files

    def save_npz(self, path: str | os.PathLike[str]) -> Path:
        """Writes a file that `from_npz`, run files (`dataset_kind: npz`) and the command line read. It is there as a whole, or not
        at all."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        described = {} if self._described is None else {DESCRIBED: self._described}
        # To type checkers, any key might be one of `savez`'s own options; these are none.
        everything: Any = {**self._columns, **described}
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".tmp", delete=False) as file:
            try:
                np.savez(file, **everything)
                file.close()
                # A file of this kind is for its owner alone until it is given a name.
                os.chmod(file.name, 0o666 & ~umask())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
        return path

    def block(self, folder: str | os.PathLike[str] = "runs/datasets", **options: Any) -> dict[str, Any]:
        """The block `dataset` of a run file, with other keys of it as `options` (`reward_scale`, `normalize_observation`, …). The
        steps are written to `folder`, under a name that follows from them, so that a run can be resumed without this object."""
        path = Path(folder).resolve() / f"{self.digest()[:16]}.npz"
        if not path.is_file():
            self.save_npz(path)
        return {"dataset_kind": "npz", "dataset_path": str(path), **options}

    def digest(self) -> str:
        """A hash of all steps."""
        total = hashlib.sha256(b"" if self._described is None else self._described.tobytes())
        for key, column in sorted(self._columns.items()):
            total.update(f"{key} {column.dtype} {column.shape};".encode())
            total.update(np.ascontiguousarray(column).data)
        return total.hexdigest()


def umask() -> int:
    """What new files may not be; there is no way to ask but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def readable(file: Any, key: str) -> np.ndarray:
    try:
        return file[key]
    except ValueError as error:
        raise ValueError(f"`{key}` holds objects, not numbers") from error


def renamed(found: Mapping[str, np.ndarray]) -> tuple[Arrays, np.ndarray | None]:
    """The arrays of a file by our names, and what it says of itself."""
    there = ", ".join(f"`{key}`" for key in found) or "nothing"

    def parts(*keys: str) -> dict[str, Any] | np.ndarray | None:
        for key in keys:
            if key in found:
                return found[key]
            inner = {name.partition("/")[2]: column for name, column in found.items() if name.startswith(f"{key}/")}
            if inner:
                return inner
        return None

    seen, after = parts("obs", "observations"), parts("next_obs", "next_observations")
    for key, there_is in (("obs", seen is not None), ("actions", "actions" in found), ("rewards", "rewards" in found)):
        if not there_is:
            raise ValueError(f"`{key}` is missing; the file has {there}")
    ended = next((pair for pair in ENDS if pair[0] in found), None)
    if ended is None:
        raise ValueError(f"`terminations` is missing, which marks the last steps of episodes; the file has {there}")
    columns = {**observation("obs", "obs", seen), "actions": array("actions", found["actions"])}
    columns["rewards"] = numbers("rewards", found["rewards"])
    columns["terminations"] = marks(ended[0], found[ended[0]])
    late = ended[1]
    columns["truncations"] = np.zeros_like(columns["terminations"])
    if late is not None and late in found:
        columns["truncations"] = marks(late, found[late])
    if after is not None:
        columns |= observation("next_obs", "next_obs", after)
    for key in ("action_masks", "next_action_masks"):
        if key in found:
            columns[key] = found[key].astype(bool)
    return columns, found.get(DESCRIBED)
