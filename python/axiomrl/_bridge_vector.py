"""Vector environments of Gymnasium: batches that step as a whole, each with a way of its own to begin episodes anew."""

from __future__ import annotations

import numpy as np

from ._bridge_rows import Rows
from ._bridge_spaces import EnvironmentFailed


class Vector:
    def __init__(self, env):
        from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

        self.env = env
        self.num_envs = env.num_envs
        mode = (env.metadata or {}).get("autoreset_mode")
        try:
            self.mode = AutoresetMode(mode)
        except ValueError:
            names = ", ".join(f"AutoresetMode.{mode.name}" for mode in AutoresetMode)
            raise EnvironmentFailed(
                f'the vector environment does not say when it resets (metadata["autoreset_mode"] is {mode!r}); set it to one of '
                f"{names}"
            ) from None
        self.next_step, self.same_step = self.mode == AutoresetMode.NEXT_STEP, self.mode == AutoresetMode.SAME_STEP
        self.is_atari = type(env.unwrapped).__module__.startswith("ale_py")
        # Those of Gymnasium seed each environment; others know one number for all.
        self.seeds_each = isinstance(env.unwrapped, (AsyncVectorEnv, SyncVectorEnv))
        self.can_begin = self.is_atari
        self.rows = Rows(env.single_observation_space, env.single_action_space)
        self.resetting = np.zeros(self.num_envs, dtype=bool)

    def probe(self):
        try:
            _, info = self.env.reset()
            self.rows.detect(info)
            if not self.rows.masks:
                self.env.action_space.seed(0)
                *_, info = self.env.step(self.env.action_space.sample())
                self.rows.detect(info)
                self.rows.detect(info.get("final_info", {}))
        except Exception as error:
            raise self.blame(error, "first step") from error

    def plain(self):
        return None

    def one(self):
        envs = getattr(self.env.unwrapped, "envs", None)
        return envs[0].unwrapped if envs else self.env.unwrapped

    def reset(self, seeds):
        try:
            obs, info = self.env.reset(seed=self.seed(seeds))
            self.show(obs, info, range(self.num_envs))
        except Exception as error:
            raise self.blame(error, "reset") from error
        self.resetting[:] = False

    def seed(self, seeds):
        if seeds is None or self.seeds_each:
            return seeds
        return np.asarray(seeds) if self.is_atari else seeds[0]

    def begin(self, i, seed):
        try:
            only = np.arange(self.num_envs) == i
            obs, info = self.env.reset(seed=np.asarray([seed]), options={"reset_mask": only})
            self.show(obs, info, [i])
        except Exception as error:
            raise self.blame(error, "reset") from error

    def step(self, actions):
        rows = self.rows
        try:
            obs, reward, terminated, truncated, info = self.env.step(rows.actions.batch(actions))
            terminated, truncated = np.asarray(terminated, dtype=bool), np.asarray(truncated, dtype=bool)
            ended = terminated | truncated
            rows.reward[:] = reward
            rows.terminated[:] = terminated
            rows.truncated[:] = truncated & ~terminated
            rows.stepped[:] = ~self.resetting
            if self.next_step:
                # A row that only resets says nothing of a step, whatever else it says.
                for array in (rows.reward, rows.terminated, rows.truncated):
                    array[self.resetting] = 0
                self.resetting = ended & ~self.resetting
            # Whose observation is the end of an episode and not yet the beginning of the next.
            at_end = np.zeros_like(ended) if self.same_step else ended
            self.show(obs, info, np.flatnonzero(~at_end))
            last = info.get("final_info", {}) if self.same_step else info
            for i in range(self.num_envs) if rows.success_key else ():
                rows.tell_step(i, row(last if ended[i] else info, i, self.num_envs))
            if ended.any():
                self.finish(ended, last, info)
        except Exception as error:
            raise self.blame(error, "step") from error

    def finish(self, ended, last, info):
        """Sees to it that rows whose episode ended show the end apart, and then the beginning of the next."""
        rows, which = self.rows, np.flatnonzero(ended)
        for i in which:
            rows.tell_final(i, row(last, i, self.num_envs))
        if self.same_step:
            final = info.get("final_obs")
            if final is None:
                raise EnvironmentFailed("episodes ended but `info` has no `final_obs`, as same-step resets must")
            for i in which:
                rows.show_final(i, final_row(final, i))
            return
        rows.final_floats[which] = rows.obs_floats[which]
        rows.final_bytes[which] = rows.obs_bytes[which]
        if not self.next_step:
            # A fresh mask each time: some wrappers take it out of the options for others.
            obs, info = self.env.reset(options={"reset_mask": ended.copy()})
            self.show(obs, info, which)

    def show(self, obs, info, telling):
        """Writes all observations, and the masks of these rows."""
        self.rows.show_batch(obs)
        if self.rows.masks:
            for i in telling:
                self.rows.tell(i, row(info, i, self.num_envs))

    def render(self, i):
        if self.env.render_mode is not None:
            pictures = self.env.render()
            return None if pictures is None else pictures[i]
        return self.seen(i) if self.is_atari else None

    def seen(self, i):
        """What an agent sees of Atari, which has no other picture: grey is shown as such, twice as large."""
        (leaf,) = self.rows.observations.leaves
        height, width, channels = self.rows.observations.json["shape"]
        image = self.rows.obs_bytes[i, leaf.columns].reshape(height, width, channels)[..., -3 if channels % 3 == 0 else -1 :]
        colours = image if image.shape[2] == 3 else image.repeat(3, axis=2)
        return colours.repeat(2, axis=0).repeat(2, axis=1)

    def close(self):
        self.env.close()

    @staticmethod
    def blame(error, what):
        if isinstance(error, EnvironmentFailed):
            return error
        return EnvironmentFailed(f"the `{what}` of the vector environment raised {type(error).__name__}: {error}", raised=True)


def row(info, i, n):
    """The info of one environment: entries with a value for each, where it has one."""
    own = {}
    for key, values in info.items():
        present = info.get(f"_{key}")
        if key.startswith("_") or (present is not None and not present[i]):
            continue
        if isinstance(values, (np.ndarray, list)) and len(values) == n:
            own[key] = values[i]
    return own


def final_row(final, i):
    """The last observation of environment `i`, out of a batch or a list of them."""
    if isinstance(final, dict):
        return {key: final_row(part, i) for key, part in final.items()}
    if isinstance(final, tuple):
        return tuple(final_row(part, i) for part in final)
    return final[i]
