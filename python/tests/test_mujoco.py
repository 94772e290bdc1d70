"""MuJoCo through Gymnasium."""

import axiomrl
import numpy as np

HOPPER = """
Hopper-v4:
  normalize: true
  n_timesteps: !!float 1e6
  policy: 'MlpPolicy'
  n_steps: 64
  batch_size: 32
  n_epochs: 2
  policy_kwargs: "dict(log_std_init=-2, net_arch=dict(pi=[16], vf=[16]))"
"""


def test_a_run_of_the_zoo_trains_in_the_newer_version(monkeypatch):
    config = axiomrl.from_sb3_zoo(HOPPER, "ppo", "Hopper-v5").replace(total_timesteps=128, eval_episodes=1, eval_interval=0)
    agent = axiomrl.PPO(config).learn()
    assert not agent.is_native and agent.num_timesteps == 128
    assert agent.observation_space.shape == (11,) and agent.action_space.shape == (3,)
    result = agent.evaluate(2)
    assert len(result["returns"]) == 2 and min(result["lengths"]) >= 1
    # The same start states, whoever steps them.
    assert axiomrl.load(agent.run_dir).evaluate(2) == result


def test_actions_have_the_bounds_of_the_environment():
    agent = axiomrl.SAC("InvertedPendulum-v5", hidden_sizes=[16], batch_size=16, learning_starts=32, eval_episodes=1).learn(64)
    assert agent.action_space.high.tolist() == [3.0]
    actions, _ = agent.predict(np.random.default_rng(0).normal(size=(200, 4)), deterministic=False)
    assert 1.0 < np.abs(actions).max() <= 3.0
