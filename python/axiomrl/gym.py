"""The native environments as Gymnasium's: `axiomrl.gym.make("CartPole-v1")`, or `gymnasium.make("axiomrl/CartPole-v1")`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from . import _native
from ._config import to_json
from ._layout import Layout
from ._registry import get_environment_spec, list_environments
from ._spaces import to_gymnasium

#: What the names are preceded by in Gymnasium's registry.
NAMESPACE = "axiomrl"


class NativeEnvironment(gymnasium.Env):
    """One native environment."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, name: str, render_mode: str | None = None, **options: Any):
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f'render_mode {render_mode!r} is not known; there is "rgb_array"')
        self.name, self.render_mode = name, render_mode
        self._env = _native.NativeEnv(name, to_json(options))
        self._layout = Layout(self._env.layout())
        self._info = self._layout.spaces["info"]
        self.observation_space = to_gymnasium(self._layout.spaces["observation"])
        self.action_space = to_gymnasium(self._layout.action)
        self._seeded = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._env.seed(seed if seed is not None else int(self.np_random.integers(2**63)))
            self._seeded = True
        return self._shown(self._env.reset())

    def step(self, action: Any):
        row = np.ascontiguousarray(np.asarray(action, np.float32).reshape(-1))
        shown, reward, terminated, truncated = self._env.step(row)
        observation, info = self._shown(shown)
        return observation, reward, terminated, truncated, info

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            return None
        picture = self._env.render()
        if picture is None:
            # Where there is nothing to see, a black square says so.
            return np.zeros((64, 64, 3), np.uint8)
        height, width, pixels = picture
        return pixels.reshape(height, width, 3)

    def action_masks(self) -> np.ndarray | None:
        """Which choices are allowed now, where the environment says so."""
        return self._mask

    def _shown(self, shown: Any):
        floats, bytes_, mask, numbers = shown
        parts = iter(self._layout.parts)
        observation = value(self._layout.spaces["observation"], parts, floats, bytes_)
        info: dict[str, Any] = dict(zip(self._info, numbers.tolist()))
        self._mask = mask.astype(np.int8) if len(mask) else None
        if self._mask is not None:
            info["action_mask"] = self._mask
        return observation, info


def value(space: dict[str, Any], parts: Any, floats: np.ndarray, bytes_: np.ndarray) -> Any:
    """An observation out of its two blocks, in memory of its own."""
    kind = space["type"]
    if kind == "dict":
        return {key: value(inner, parts, floats, bytes_) for key, inner in space["entries"]}
    part = next(parts)
    own = (bytes_ if part["kind"] == "U8" else floats)[part["at"]["start"] : part["at"]["end"]]
    if kind == "box":
        return own.reshape(space["shape"]).copy()
    if kind == "discrete":
        return np.int64(own[0])
    return own.astype(np.int8 if kind == "multi_binary" else np.int64)


def make(name: str, **options: Any) -> gymnasium.Env:
    """A native environment by its name, with its options, checks and time limit."""
    get_environment_spec(name)
    return gymnasium.make(f"{NAMESPACE}/{name}", **options)


def register() -> None:
    """Makes Gymnasium know the native environments; importing this module does."""
    for name in list_environments():
        spec = get_environment_spec(name)
        full = f"{NAMESPACE}/{name}"
        if full not in gymnasium.registry:
            gymnasium.register(
                full,
                entry_point="axiomrl.gym:NativeEnvironment",
                kwargs={"name": name},
                reward_threshold=spec.reward_threshold,
            )


register()
