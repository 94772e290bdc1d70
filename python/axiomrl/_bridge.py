"""Gymnasium environments as one batch that the engine can step.

Episodes follow each other without a step in between: where one ended, the observation is already the first of the next and
`final_floats`/`final_bytes` hold the last of the old one. `terminated` and `truncated` are never set together. `stepped` is 0
where a row was spent on a reset alone.

Nothing here needs more than numpy and gymnasium, and gymnasium is imported only when an environment is made.
"""

from __future__ import annotations

import numpy as np

from . import _bridge_make as making
from ._bridge_rows import Rows
from ._bridge_spaces import EnvironmentFailed
from ._bridge_vector import Vector

__all__ = ["Batch", "EnvironmentFailed"]


class Batch:
    """`n` environments of one kind.

    `make` is an id of Gymnasium (also `module:Id`), a function that returns an environment, an environment (then `n` is 1) or
    a `gymnasium.vector.VectorEnv` (then `n` is its `num_envs`). `purpose` is "training" or "evaluation".
    """

    def __init__(self, make, n, *, purpose="training", action_repeat=1):
        self._start(making.open(make, n, purpose), n, action_repeat)

    @classmethod
    def from_id(cls, env_id, n, kwargs=None, *, wrappers=(), purpose="training", action_repeat=1):
        """Environments of an id with options. `kwargs` may hold `training:` and `evaluation:`, which are laid over the rest,
        and `wrappers:`, which come before the ones given here: names (`module:Wrapper`; of `gymnasium.wrappers` where there is
        no module) or `{name: {option: value}}`."""
        batch = cls.__new__(cls)
        batch._start(making.open_id(env_id, n, kwargs or {}, wrappers, purpose), n, action_repeat)
        return batch

    def _start(self, made, n, action_repeat):
        if action_repeat < 1:
            raise EnvironmentFailed("action_repeat must be at least 1")
        if isinstance(made, list):
            self._envs = Each(made, action_repeat)
        elif action_repeat > 1:
            remedy = "set action_repeat to 1 (Atari has `frameskip` in its env_kwargs)"
            raise EnvironmentFailed(f"environments that step as one batch take no action_repeat; {remedy}")
        else:
            self._envs = Vector(made)
        self.num_envs = self._envs.num_envs
        if n != self.num_envs:
            raise EnvironmentFailed(f"there are {self.num_envs} environments, not {n}; set num_envs to {self.num_envs}")
        self._envs.probe()
        self._bound = False

    @property
    def spaces(self):
        """What observations, actions, masks and info columns look like."""
        return self._envs.rows.spaces()

    @property
    def action_width(self):
        return self._envs.rows.actions.width

    @property
    def can_begin(self):
        """Whether one environment can begin an episode alone."""
        return self._envs.can_begin

    def shapes(self):
        """Shape and type of every array that `bind` wants, by name."""
        return self._envs.rows.shapes(self.num_envs)

    def arrays(self):
        """Fresh arrays for `bind`."""
        return {name: np.zeros(shape, dtype) for name, (shape, dtype) in self.shapes().items()}

    def bind(self, arrays):
        """Has every outcome written into these arrays from now on."""
        self._envs.rows.bind(arrays, self.num_envs)
        self._bound = True

    def reset(self, seeds=None):
        """Starts an episode everywhere: with a seed for each environment, or going on with the chances that they have."""
        if not self._bound:
            raise EnvironmentFailed("call bind before reset")
        if seeds is not None:
            # Gymnasium takes plain ints alone.
            seeds = [int(seed) for seed in seeds]
            if len(seeds) != self.num_envs:
                raise EnvironmentFailed(f"{self.num_envs} environments need as many seeds, not {len(seeds)}")
        self._envs.rows.clear()
        self._envs.reset(seeds)
        self._envs.rows.check()

    def begin(self, i, seed):
        """Starts an episode in environment `i` alone. Says whether that was done."""
        if not self._envs.can_begin:
            return False
        self._envs.begin(i, int(seed))
        self._envs.rows.check()
        return True

    def step(self, actions):
        """Steps all environments; `actions` is float32 `[n, width]` in their own units."""
        self._envs.step(actions)
        self._envs.rows.check()

    def plain(self):
        """What the engine needs to call and read steps on its own, or None where that would not do."""
        return self._envs.plain()

    def render(self, i):
        """The picture of environment `i`, `[height, width, 3]` bytes, or None where there is none."""
        picture = self._envs.render(i)
        if picture is None:
            return None
        picture = np.ascontiguousarray(picture)
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise EnvironmentFailed(f"its picture is {picture.dtype} {picture.shape}, not bytes [height, width, 3]", env=i)
        return picture

    @property
    def has_rules(self):
        """Whether rewards can be asked for other goals."""
        return callable(getattr(self._envs.one(), "compute_reward", None))

    def compute_reward(self, achieved, desired):
        """What rows of achieved goals are worth where these were desired."""
        return self._judge("compute_reward", achieved, desired, np.float32)

    def compute_terminated(self, achieved, desired):
        """Whether they end the episode; they do not where the environment has nothing to say."""
        if not callable(getattr(self._envs.one(), "compute_terminated", None)):
            return np.zeros(len(achieved), dtype=np.uint8)
        return self._judge("compute_terminated", achieved, desired, np.uint8)

    def _judge(self, name, achieved, desired, dtype):
        judge = getattr(self._envs.one(), name, None)
        if judge is None:
            raise EnvironmentFailed(f"it has no `{name}`, without which no other goals can be judged")
        try:
            # Most judge all rows at once; those that do not are asked row by row.
            verdict = np.asarray(judge(achieved, desired, {}))
            if verdict.shape != (len(achieved),):
                verdict = np.asarray([judge(a, d, {}) for a, d in zip(achieved, desired)])
        except Exception as error:
            raise blame(error, None, name) from error
        return verdict.reshape(len(achieved)).astype(dtype)

    def close(self):
        self._envs.close()


class Each:
    """Environments that are stepped one after the other."""

    can_begin = True

    def __init__(self, envs, action_repeat):
        self.envs = envs
        self.num_envs = len(envs)
        self.rows = Rows(envs[0].observation_space, envs[0].action_space)
        spaces = self.rows.spaces()
        for i, env in enumerate(envs[1:], 1):
            if Rows(env.observation_space, env.action_space).spaces() != spaces:
                raise EnvironmentFailed("all environments of a batch must have the same spaces", env=i)
        self.resets = [env.reset for env in envs]
        # Whether an episode ended in the last step.
        self.ended = True
        self.steps = [env.step if action_repeat == 1 else repeated(env.step, action_repeat) for env in envs]

    def probe(self):
        """An environment shows by its first observation and step what else it tells."""
        what, env, result = "reset", self.envs[0], None
        try:
            _, info = first(env.reset())
            self.rows.detect(info)
            what = "step"
            env.action_space.seed(0)
            action = env.action_space.sample() if not self.rows.masks else allowed(self.rows, info)
            result = env.step(action)
            _, _, _, _, info = result
            self.rows.detect(info)
        except Exception as error:
            raise blame(error, None, what, result) from error

    def one(self):
        return self.envs[0].unwrapped

    def reset(self, seeds):
        for i in range(self.num_envs):
            self.begin(i, None if seeds is None else seeds[i])

    def begin(self, i, seed):
        try:
            obs, info = first(self.resets[i](seed=seed))
            self.rows.show(i, obs)
            self.rows.tell(i, info)
        except Exception as error:
            raise blame(error, i, "reset") from error

    def step(self, actions):
        rows, take = self.rows, self.take
        rewards, i, result = [], 0, None
        self.begin_step()
        try:
            for i, (step, action) in enumerate(zip(self.steps, rows.actions.each(actions))):
                result = step(action)
                rewards.append(take(i, result))
            rows.reward[:] = rewards
        except Exception as error:
            raise blame(error, i, "step", result) from error

    def begin_step(self):
        if self.ended:
            self.rows.terminated[:] = 0
            self.rows.truncated[:] = 0
            self.ended = False

    def take(self, i, result):
        """Writes what a step of environment `i` led to, and begins the next episode where one ended. Returns the reward."""
        rows = self.rows
        obs, reward, terminated, truncated, info = result
        reward = float(reward)
        tells = rows.masks > 0 or rows.success_key is not None
        if tells:
            rows.tell_step(i, info)
        if terminated or truncated:
            self.ended = True
            (rows.terminated if terminated else rows.truncated)[i] = 1
            rows.show_final(i, obs)
            rows.tell_final(i, info)
            obs, info = first(self.resets[i]())
        rows.show(i, obs)
        if tells:
            rows.tell(i, info)
        return reward

    def plain(self):
        """Itself, the steps and what the first choice is called, where the engine can call and read steps on its own."""
        rows = self.rows
        if rows.masks or rows.success_key is not None or not (rows.observations.is_plain() and rows.actions.is_plain()):
            return None
        return self, self.steps, rows.actions.start

    def taken(self, i, result):
        """As `take`, for the engine."""
        try:
            return self.take(i, result)
        except Exception as error:
            raise blame(error, i, "step", result) from error

    def blamed(self, error, i):
        """What to raise where the step of environment `i` has raised something."""
        if not isinstance(error, Exception):
            return error
        said = blame(error, i, "step")
        if said is not error:
            said.__cause__ = error
        return said

    def check(self):
        self.rows.check()

    def render(self, i):
        env = self.envs[i]
        if env.render_mode not in ("rgb_array", "rgb_array_list"):
            return None
        try:
            picture = env.render()
        except Exception as error:
            raise blame(error, i, "render") from error
        return picture[-1] if isinstance(picture, list) and picture else picture

    def close(self):
        for env in self.envs:
            env.close()


def repeated(step, count):
    """Takes every action `count` times, or until the episode ends, and adds up the rewards."""

    def step_on(action):
        total = 0.0
        for _ in range(count):
            obs, reward, terminated, truncated, info = step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return obs, total, terminated, truncated, info

    return step_on


def first(shown):
    """The observation and info of a reset."""
    if not (isinstance(shown, tuple) and len(shown) == 2 and isinstance(shown[1], dict)):
        raise EnvironmentFailed("its `reset` must return (observation, info), as since Gym 0.26; it is written for an older Gym")
    return shown


def allowed(rows, info):
    """The first action that a mask allows."""
    mask, action, at = rows.mask(info), [], 0
    sizes = {"discrete": [rows.masks], "multi_discrete": rows.actions.json.get("nvec")}.get(rows.actions.json["type"])
    for size in sizes or [2] * rows.actions.width:
        action.append(int(np.argmax(mask[at : at + size])))
        at += size
    return rows.actions.each(np.asarray([action], dtype=np.float32))[0]


def blame(error, env, what, result=None):
    """One kind of error for whatever an environment does wrong."""
    if isinstance(error, EnvironmentFailed):
        error.env = env if error.env is None else error.env
        return error
    if isinstance(error, ValueError) and isinstance(result, tuple) and len(result) != 5:
        old = "; it is written for an older Gym: return (observation, reward, terminated, truncated, info)"
        return EnvironmentFailed(f"its `step` returned {len(result)} values and not 5{old if len(result) == 4 else ''}", env)
    if isinstance(error, TypeError) and isinstance(result, tuple) and not is_number(result[1]):
        return EnvironmentFailed(f"its reward is {result[1]!r}, which is no number", env)
    return EnvironmentFailed(f"its `{what}` raised {type(error).__name__}: {error}", env, raised=True)


def is_number(value):
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
