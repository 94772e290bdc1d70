"""Observations of every form, and what is answered."""

import axiomrl
import numpy as np
import pytest


def test_one_row_and_several():
    agent = axiomrl.PPO("CartPole-v1")
    action, state = agent.predict([0.0, 0.1, 0.0, 0.0])
    assert action.shape == () and action.dtype == np.int64 and state is None
    actions, _ = agent.predict(np.zeros((3, 4), np.float64))
    assert actions.shape == (3,) and (actions == agent.predict(np.zeros(4))[0]).all()
    drawn = [int(agent.predict(np.zeros(4), deterministic=False)[0]) for _ in range(40)]
    assert set(drawn) == {0, 1}
    for wrong in (np.zeros(3), np.zeros((2, 3)), np.zeros((1, 1, 4)), np.full(4, np.nan)):
        with pytest.raises(ValueError):
            agent.predict(wrong)


def test_boxes_come_in_the_environments_units():
    agent = axiomrl.SAC("Pendulum-v1")
    draws = np.array([agent.predict(np.zeros(3), deterministic=False)[0] for _ in range(100)])
    assert draws.shape == (100, 1) and draws.dtype == np.float32
    assert 1.0 < np.abs(draws).max() <= 2.0


def test_parts_by_name():
    agent = axiomrl.HER("PointGoal-v0")
    space = agent.observation_space
    one = {name: np.zeros(inner.shape) for name, inner in space.spaces.items()}
    assert agent.predict(one)[0].shape == agent.action_space.shape
    several = {name: np.zeros((4, *inner.shape)) for name, inner in space.spaces.items()}
    assert agent.predict(several)[0].shape == (4, *agent.action_space.shape)
    with pytest.raises(ValueError, match="missing"):
        agent.predict({"observation": one["observation"]})
    with pytest.raises(ValueError, match="no part 'goal'"):
        agent.predict({**one, "goal": 1})
    with pytest.raises(ValueError, match="dictionary"):
        agent.predict(np.zeros(3))


def test_images_with_channels_last_or_first():
    agent = axiomrl.DQN("Catch-v0")
    height, width, channels = agent.observation_space.shape
    image = np.random.default_rng(0).integers(0, 256, (6, height, width, channels), np.uint8)
    assert (agent.predict(image)[0] == agent.predict(np.moveaxis(image, -1, 1))[0]).all()
    with pytest.raises(ValueError, match="0 to 255"):
        agent.predict(image[0].astype(float) - 300)


def test_a_memory_is_carried_and_forgotten():
    agent = axiomrl.DRQN("CartPoleNoVel-v1")
    first = np.random.default_rng(1).normal(size=(2, 2))
    action, state = agent.predict(first)
    assert state.shape[0] == 2 and state.any()
    _, on = agent.predict(first, state)
    assert (on != state).any()
    _, anew = agent.predict(first, state, episode_start=[True, False])
    assert (anew[0] == state[0]).all() and (anew[1] == on[1]).all()


def test_masks_are_heeded():
    agent = axiomrl.PPO("IdentityMasked-v0")
    width = agent.action_space.n
    for allowed in range(width):
        mask = np.arange(width) == allowed
        assert agent.predict(0, action_masks=mask)[0] == allowed
    with pytest.raises(ValueError, match="entries"):
        agent.predict(0, action_masks=[True])
    with pytest.raises(ValueError, match="no masks"):
        axiomrl.PPO("CartPole-v1").predict(np.zeros(4), action_masks=[True, True])
