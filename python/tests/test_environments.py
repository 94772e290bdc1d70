"""Environments of Gymnasium's, stepped in this process."""

import axiomrl
import gymnasium
import numpy as np
import pytest
from axiomrl import DQN, PPO


class Coin(gymnasium.Env):
    """Naming the side that is up pays 1."""

    def __init__(self, fails_at=None):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.fails_at, self.steps = fails_at, 0

    def show(self):
        self.up = int(self.np_random.integers(2))
        return np.array([self.up], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.show(), {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.fails_at:
            raise ZeroDivisionError("the coin is lost")
        reward = float(action == self.up)
        return self.show(), reward, True, False, {}


def test_a_function_that_makes_an_environment_is_learned_in(small):
    agent = PPO(Coin, **{**small, "num_envs": 8}, learning_rate=0.01).learn(4096)
    assert not agent.is_native and "Gymnasium's" in repr(agent)
    assert agent.evaluate(20)["mean_reward"] > 0.9
    assert [int(agent.predict([up])[0]) for up in (0.0, 1.0)] == [0, 1]
    saved = agent.save("kept")
    with pytest.raises(axiomrl.CheckpointError, match="Coin"):
        PPO.load(saved).learn(8)
    assert PPO.load(saved, env=Coin).learn(64).num_timesteps == 4160


def test_an_environment_and_a_batch_that_are_there_already(small):
    agent = PPO(Coin(), **{**small, "num_envs": 1}).learn(64)
    assert agent.num_timesteps == 64 and len(agent.evaluate(3)["returns"]) == 3
    with pytest.raises(ValueError, match="function that makes one"):
        PPO(Coin(), num_envs=2)
    batch = gymnasium.vector.SyncVectorEnv([Coin] * 3)
    agent = PPO(batch, num_steps=32, minibatch_size=32).learn(96)
    assert agent.num_timesteps >= 96 and agent.config.num_envs == 3


def test_the_engines_own_environment_is_used_where_it_is_the_same(small):
    assert PPO("CartPole-v1").is_native and PPO("axiomrl/CartPole-v1").is_native
    assert PPO(gymnasium.make("CartPole-v1")).is_native
    changed = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: 2 * reward)
    assert not PPO(changed).is_native
    agent = PPO("CartPole-v1", native=False, **small).learn(64)
    assert not agent.is_native and agent.config.env_id == "gymnasium:CartPole-v1"
    assert axiomrl.load(agent.run_dir).evaluate(2)["lengths"] == agent.evaluate(2)["lengths"]


def test_what_an_environment_raises_is_the_cause(small):
    agent = DQN(lambda: Coin(fails_at=50), checkpoint_interval=16)
    with pytest.raises(RuntimeError, match="coin is lost") as told:
        agent.learn(256)
    causes, error = [], told.value
    while error is not None:
        causes.append(type(error))
        error = error.__cause__
    assert ZeroDivisionError in causes
    with pytest.raises(TypeError, match="no environment"):
        PPO(3)
    with pytest.raises(ValueError, match="Nowhere"):
        PPO("Nowhere-v7")
