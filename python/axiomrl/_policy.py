"""What acts: shared by agents and by policies that were loaded alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from ._config import TrainConfig
from ._layout import Layout
from ._spaces import to_gymnasium


class Acting:
    """Predicts, is measured, and hands out its parameters."""

    _layout: Layout | None = None

    def _native_policy(self) -> Any:
        raise NotImplementedError

    def _layout_of(self) -> Layout:
        if self._layout is None:
            self._layout = Layout(self._native_policy().layout())
        return self._layout

    @property
    def observation_space(self) -> Any:
        """What is observed, as a space of Gymnasium's."""
        return to_gymnasium(self._layout_of().spaces["observation"])

    @property
    def action_space(self) -> Any:
        """What can be done, as a space of Gymnasium's."""
        return to_gymnasium(self._layout_of().action)

    def predict(
        self,
        observation: Any,
        state: np.ndarray | None = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The action for an observation, or for each of several, in the environment's units; and what is to be given as
        `state` with the next observation (None for policies without a memory).

        `episode_start` says where an episode begins, so that what was remembered is forgotten. The best action is taken;
        `deterministic=False` draws one, as in training. `action_masks` says which choices are allowed.
        """
        layout = self._layout_of()
        floats, bytes_, batched = layout.rows(observation)
        count = len(floats)
        starts = np.zeros(count, bool) if state is not None else np.ones(count, bool)
        if episode_start is not None:
            starts = starts | np.broadcast_to(np.asarray(episode_start, bool), (count,))
        memory = None
        if state is not None and layout.memory:
            memory = np.ascontiguousarray(np.asarray(state, np.float32).reshape(count, -1))
        masks = layout.mask_rows(action_masks, count)
        starts = np.ascontiguousarray(starts)
        actions, after = self._native_policy().act(floats, bytes_, masks, memory, starts, bool(deterministic))
        following = after.reshape(count, -1) if layout.memory else None
        answer = layout.actions(actions, count, batched)
        return (answer if not self._first_choice() else answer + self._first_choice()), following

    def _first_choice(self) -> Any:
        """The number of an environment's first choice, which the engine calls 0."""
        return 0

    def evaluate(self, n_episodes: int | None = None, *, seed: int | None = None, deterministic: bool = True) -> dict[str, Any]:
        """Plays whole episodes and gives `mean_reward`, `std_reward`, `mean_length`, `returns` and `lengths`, and
        `success_rate` where the environment says whether its task was done. The same seed gives the same episodes."""
        episodes = int(n_episodes if n_episodes is not None else self.config.eval_episodes)
        if episodes < 1:
            raise ValueError("n_episodes must be at least 1")
        result = self._native_policy().evaluate(episodes, seed, bool(deterministic))
        if result is None:
            raise KeyboardInterrupt
        return result

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Writes the policy as an ONNX file, which other programs run: observations in, the best action in the environment's
        units out. Its inputs are the observation (or its parts by name), `mask` where the policy takes masks and `state` where it
        remembers, zeros where an episode begins; its outputs are `action` and `next_state`. Choices are counted from 0."""
        path = Path(path)
        self._native_policy().export(os.fspath(path))
        return path

    def get_parameters(self) -> dict[str, np.ndarray]:
        """What the policy acts by: arrays of its own, by name."""
        return self._native_policy().parameters()

    def set_parameters(self, parameters: dict[str, Any], exact_match: bool = True) -> None:
        """Takes such arrays in the place of its own; all of them, unless `exact_match` is False."""
        arrays = {name: np.ascontiguousarray(value, np.float32) for name, value in parameters.items()}
        self._native_policy().set_parameters(arrays, exact_match)

    @property
    def config(self) -> TrainConfig:
        """What is run, with every default filled in."""
        return TrainConfig.from_dict(json.loads(self._native_policy().config()))


class Policy(Acting):
    """A trained policy on its own: it acts without an environment."""

    def __init__(self, native: Any):
        self._policy = native

    def _native_policy(self) -> Any:
        return self._policy

    def __repr__(self) -> str:
        config = self.config
        return f"<axiomrl.Policy: {config.algo} on {config.env_id}>"


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a run folder (its last checkpoint) or of a checkpoint (`<run>/checkpoints/best`)."""
    return Policy(_native.LoadedPolicy.load(os.fspath(path), None))


def evaluate_checkpoint(path: str | os.PathLike[str], num_episodes: int | None = None, **options: Any) -> dict[str, Any]:
    """Measures the policy of a checkpoint; see `Policy.evaluate`."""
    return load_policy(path).evaluate(num_episodes, **options)


def predict_checkpoint(path: str | os.PathLike[str], observation: Any, deterministic: bool = True) -> np.ndarray:
    """The action of a checkpoint's policy for an observation; whoever asks often keeps `load_policy`."""
    return load_policy(path).predict(observation, deterministic=deterministic)[0]
