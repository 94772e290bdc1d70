"""What `axiomrl check-env` finds."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from axiomrl._check import check


class Sound(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.shown(), {}

    def shown(self):
        return self.np_random.normal(size=2).astype(np.float32)

    def step(self, action):
        self.t += 1
        return self.shown(), float(action[0]), self.t == 10, False, {}


class Unseeded(Sound):
    def shown(self):
        return np.random.normal(size=2).astype(np.float32)


class Broken(Sound):
    def step(self, action):
        obs, _, *rest = super().step(action)
        return obs, float("nan"), *rest


class Wide(Sound):
    action_space = spaces.Box(-100, 100, (1,), np.float32)

    def shown(self):
        return super().shown().astype(np.float64)


@pytest.fixture
def found():
    def of(env, **options):
        gym.register(f"{env.__name__}-v0", env, **options)
        try:
            findings = check(f"{env.__name__}-v0", {}, 50)["findings"]
        finally:
            del gym.registry[f"{env.__name__}-v0"]
        return {(one["level"], one["about"]) for one in findings}

    return of


def test_a_sound_environment_has_no_problems(found):
    assert {level for level, _ in found(Sound, max_episode_steps=20)} == {"ok"}


def test_what_is_wrong_is_named(found):
    assert ("problem", "seeding") in found(Unseeded)
    assert ("problem", "steps") in found(Broken)
    assert {("note", "actions"), ("note", "observations"), ("note", "time limit")} <= found(Wide)
