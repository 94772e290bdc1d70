"""Steps that the engine calls and reads on its own, beside the way through Python, which must come to the same."""

import gymnasium
import numpy as np
import pytest
from axiomrl import DQN, SAC
from axiomrl._bridge import Batch, Each


class Line(gymnasium.Env):
    """A point on a line that is pushed about; `odd` says what its tenth step does wrong."""

    def __init__(self, choices=True, odd=None, as_doubles=False):
        spaces = gymnasium.spaces
        self.observation_space = spaces.Box(-9.0, 9.0, (2,), np.float64 if as_doubles else np.float32)
        self.action_space = spaces.Discrete(3, start=-1) if choices else spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.odd, self.all_steps = odd, 0

    def show(self):
        return np.array([self.at, self.at**2], self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = self.np_random.uniform(-1, 1), 0
        return self.show(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.at += 0.1 * float(np.sum(action))
        self.steps, self.all_steps = self.steps + 1, self.all_steps + 1
        obs, reward = self.show(), -abs(self.at)
        if self.all_steps == 10:
            obs, reward = {"nan": (obs * np.nan, reward), "reward": (obs, np.inf), "shape": (obs[:1], reward)}.get(
                self.odd, (obs, reward)
            )
            if self.odd == "raise":
                raise KeyError("lost")
            if self.odd == "four":
                return obs, reward, False, {}
            if self.odd == "list":
                obs = list(obs)
        return obs, reward, abs(self.at) > 2, self.steps >= 30, {}


def plain(make):
    return Batch(make, 1).plain() is not None


@pytest.mark.parametrize("choices", [True, False])
def test_both_ways_come_to_the_same(choices, monkeypatch):
    assert plain(lambda: Line(choices)) and not plain(lambda: Line(choices, as_doubles=True))
    # One step of a batch shows what is a list in place of an array.
    make = lambda: Line(choices, odd="list")

    def learned():
        algo, settings = (DQN, {}) if choices else (SAC, {"hidden_sizes": [16]})
        agent = algo(make, num_envs=2, seed=3, learning_starts=50, batch_size=16, **settings).learn(200)
        return agent.get_parameters(), agent.evaluate(3)["returns"]

    quick, returns = learned()
    monkeypatch.setattr(Each, "plain", lambda self: None)
    slow, slow_returns = learned()
    assert list(returns) == list(slow_returns) and quick.keys() == slow.keys()
    assert all(np.array_equal(quick[name], slow[name]) for name in quick)


@pytest.mark.parametrize(
    ("odd", "words"),
    [("nan", "is nan at place 0"), ("reward", "its reward is inf"), ("shape", "has shape"), ("four", "older Gym"), ("raise", "KeyError")],
)
def test_what_is_wrong_is_said_by_both(odd, words, monkeypatch):
    for way in (Each.plain, lambda self: None):
        monkeypatch.setattr(Each, "plain", way)
        with pytest.raises(RuntimeError, match=words) as told:
            DQN(lambda: Line(odd=odd)).learn(64)
        assert odd != "raise" or isinstance(told.value.__cause__.__cause__ or told.value.__cause__, KeyError)
