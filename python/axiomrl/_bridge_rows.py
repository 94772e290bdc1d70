"""The arrays that a batch of environments writes: row `i` of each belongs to environment `i`."""

from __future__ import annotations

import math

import numpy as np

from ._bridge_spaces import Actions, EnvironmentFailed, Observations

# What environments call it when a task was done.
SUCCESS_KEYS = ("is_success", "success")


class Rows:
    """Describes the spaces of environments and writes what they show, checked."""

    def __init__(self, observation_space, action_space):
        self.observations = Observations(observation_space)
        self.actions = Actions(action_space)
        self.masks = 0
        self.success_key = None

    def detect(self, info):
        """Looks for what an environment tells beyond observation and reward."""
        if "action_mask" in info and not self.masks:
            if self.actions.masks == 0:
                raise EnvironmentFailed("`info` has an `action_mask`, but actions that are no choices have none; leave it out")
            self.masks = self.actions.masks
        if self.success_key is None:
            self.success_key = next((key for key in SUCCESS_KEYS if key in info), None)

    def spaces(self):
        info = [] if self.success_key is None else ["success"]
        return {"observation": self.observations.json, "action": self.actions.json, "masks": self.masks, "info": info}

    def shapes(self, n):
        """Name, shape and type of every array."""
        floats, octets = (n, self.observations.floats), (n, self.observations.bytes)
        masks, info = (n, self.masks), (n, 0 if self.success_key is None else 1)
        return {
            "obs_floats": (floats, np.float32),
            "obs_bytes": (octets, np.uint8),
            "final_floats": (floats, np.float32),
            "final_bytes": (octets, np.uint8),
            "reward": ((n,), np.float64),
            "terminated": ((n,), np.uint8),
            "truncated": ((n,), np.uint8),
            "stepped": ((n,), np.uint8),
            "masks": (masks, np.uint8),
            "final_masks": (masks, np.uint8),
            "info": (info, np.float32),
        }

    def bind(self, arrays, n):
        for name, (shape, dtype) in self.shapes(n).items():
            array = arrays.get(name)
            if array is None or array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                what = "nothing" if array is None else f"{array.dtype} {array.shape}"
                raise EnvironmentFailed(f"the array `{name}` must be {np.dtype(dtype)} {shape} in C order, but is {what}")
            setattr(self, name + "_out" if name == "masks" else name, array)
        self.flat = self.obs_floats.reshape(-1)
        self.flat_final = self.final_floats.reshape(-1)
        self.show = self.observations.row_writer(self.obs_floats, self.obs_bytes)
        self.show_final = self.observations.row_writer(self.final_floats, self.final_bytes)
        self.show_batch = self.observations.batch_writer(self.obs_floats, self.obs_bytes)
        self.clear()
        self.final_floats[...] = 0
        self.final_bytes[...] = 0

    def clear(self):
        """Forgets outcomes, as after a reset."""
        self.reward[:] = 0
        self.terminated[:] = 0
        self.truncated[:] = 0
        self.stepped[:] = 1
        self.masks_out[...] = 1
        self.final_masks[...] = 1
        self.info[...] = 0

    def tell(self, i, info):
        """Writes the mask that goes with the observation of row `i`."""
        if self.masks:
            mask = self.mask(info)
            if not mask.any():
                raise EnvironmentFailed("its `action_mask` allows no action; it must allow at least one")
            self.masks_out[i] = mask

    def tell_final(self, i, info):
        if self.masks and info.get("action_mask") is not None:
            self.final_masks[i] = self.mask(info)

    def tell_step(self, i, info):
        if self.success_key is not None:
            value = info.get(self.success_key)
            # Some say it at the end of an episode alone.
            self.info[i, 0] = math.nan if value is None else float(value)

    def mask(self, info):
        mask = info.get("action_mask")
        if mask is None:
            raise EnvironmentFailed("`info` had an `action_mask` at first and now has none; it must come with every observation")
        # Gymnasium's masks of several choices are tuples of arrays.
        parts = [np.asarray(part).reshape(-1) for part in mask] if isinstance(mask, tuple) else [np.asarray(mask).reshape(-1)]
        mask = np.concatenate(parts)
        if mask.shape != (self.masks,):
            raise EnvironmentFailed(f"its `action_mask` has {mask.size} entries but its actions have {self.masks}")
        return mask != 0

    def check(self):
        """Refuses numbers that are none. One product finds them all; the search is for when it finds something."""
        if not (math.isfinite(np.dot(self.flat, self.flat)) and math.isfinite(np.dot(self.flat_final, self.flat_final))):
            for block in (self.obs_floats, self.final_floats):
                bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
                if bad.size:
                    raise EnvironmentFailed(self.observations.culprit(block[bad[0]]), env=int(bad[0]))
        if not math.isfinite(np.dot(self.reward, self.reward)):
            bad = np.flatnonzero(~np.isfinite(self.reward))
            if bad.size:
                raise EnvironmentFailed(f"its reward is {self.reward[bad[0]]}", env=int(bad[0]))
