"""The native environments under Gymnasium."""

import axiomrl
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env


@pytest.mark.parametrize("name", [name for name in axiomrl.list_environments() if "Faulty" not in name])
def test_gymnasium_has_nothing_to_object(name, recwarn):
    env = axiomrl.gym.make(name, render_mode="rgb_array")
    check_env(env.unwrapped)
    told = [str(one.message) for one in recwarn if "gymnasium" in str(one.filename)]
    # Some spaces have no bounds, and some are images of another size than usual: both are as they are.
    allowed = ("Box observation space", "recommend", "not having", "unusual", "rgb array", "infinity")
    assert [words for words in told if not any(part in words for part in allowed)] == []


def test_the_same_seed_gives_the_same_episode_and_none_goes_on():
    env, other = axiomrl.gym.make("CartPole-v1"), gymnasium.make("axiomrl/CartPole-v1")
    assert np.array_equal(env.reset(seed=4)[0], other.reset(seed=4)[0])
    first = env.reset()[0]
    assert not np.array_equal(first, env.reset()[0])
    assert np.array_equal(first, other.reset()[0])


def test_options_and_masks():
    env = axiomrl.gym.make("IdentityMasked-v0", n=6)
    assert env.action_space.n == 6
    _, info = env.reset(seed=0)
    assert info["action_mask"].sum() == 1 or info["action_mask"].sum() < 6
    with pytest.raises(ValueError, match="unknown option"):
        axiomrl.gym.make("CartPole-v1", nonsense=1)
    with pytest.raises(KeyError, match="CartPole"):
        axiomrl.gym.make("CartPol-v1")
