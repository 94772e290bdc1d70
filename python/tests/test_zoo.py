"""Files of RL-Baselines3-Zoo."""

import re
import warnings
from pathlib import Path

import axiomrl
import pytest
from axiomrl import _zoo_settings, from_sb3_zoo

PPO = """
default:
  n_timesteps: !!float 1e6
  policy: 'MlpPolicy'

atari:
  env_wrapper:
    - stable_baselines3.common.atari_wrappers.AtariWrapper
  frame_stack: 4
  policy: 'CnnPolicy'
  n_envs: 8
  n_steps: 128
  n_timesteps: !!float 1e7
  learning_rate: lin_2.5e-4

CartPole-v1:
  n_envs: 8
  n_timesteps: !!float 1e5
  policy: 'MlpPolicy'
  n_steps: 32
  batch_size: 256
  n_epochs: 20
  gamma: 0.98
  learning_rate: lin_0.001
  clip_range: lin_0.2

Hopper-v4: &mujoco
  normalize: true
  n_envs: 1
  n_timesteps: !!float 1e6
  policy: 'MlpPolicy'
  policy_kwargs: "dict(
                    log_std_init=-2,
                    ortho_init=False,
                    activation_fn=nn.ReLU,
                    net_arch=dict(pi=[256, 256], vf=[256, 256])
                  )"
  use_sde: True
  sde_sample_freq: 4

Walker2d-v4:
  <<: *mujoco
  n_timesteps: 2000
  normalize: "{'norm_obs': False, 'norm_reward': True}"
"""

SAC = """
Pendulum-v1:
  n_timesteps: 20000
  policy: 'MlpPolicy'
  learning_rate: !!float 1e-3

MountainCarContinuous-v0:
  n_timesteps: !!float 50000
  policy: 'MlpPolicy'
  n_envs: 4
  buffer_size: 50000
  ent_coef: 'auto_0.1'
  train_freq: 8
  gradient_steps: -1
  use_sde: True
  noise_std: 0.2
  policy_kwargs: "dict(log_std_init=-3.67, net_arch=[64, 64], use_expln=True)"

LunarLanderContinuous-v3:
  n_timesteps: 500
  policy: 'MlpPolicy'
  train_freq: [1, 'episode']
  gradient_steps: -1
  noise_type: 'normal'
  noise_std: 0.1
  optimize_memory_usage: True
  callback: some.module.Callback

Reach-v1:
  n_timesteps: 100
  policy: 'MultiInputPolicy'
  replay_buffer_class: HerReplayBuffer
  replay_buffer_kwargs: "dict(
    online_sampling=True,
    goal_selection_strategy='final',
    n_sampled_goal=6
  )"
"""


def quiet(text, algo, env):
    """A config about which nothing is to be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return from_sb3_zoo(text, algo, env)


def test_a_section_becomes_a_run_that_trains():
    config = quiet(PPO, "ppo", "CartPole-v1")
    assert (config.algo, config.env_id, config.total_timesteps, config.num_envs) == ("ppo", "CartPole-v1", 100_000, 8)
    own = config.algo_kwargs
    assert (own["num_steps"], own["minibatch_size"], own["update_epochs"], own["gamma"]) == (32, 256, 20, 0.98)
    assert own["learning_rate"] == {"linear": [0.001, 0.0]} and own["clip_coef"] == {"linear": [0.2, 0.0]}
    assert config.unmapped == {} and config.tags == ["rl-zoo/ppo/CartPole-v1"]
    agent = axiomrl.PPO(config.replace(total_timesteps=512, eval_episodes=1))
    assert agent.learn().num_timesteps == 512 and agent.config.algo_kwargs["clip_coef"] == {"linear": [pytest.approx(0.2), 0.0]}


def test_what_a_section_leaves_open_is_as_stable_baselines_has_it():
    config = quiet("CartPole-v1:\n  n_timesteps: 100\n", "dqn", "CartPole-v1")
    own, ours = config.algo_kwargs, axiomrl.get_algorithm_spec("dqn").defaults
    theirs = {
        "learning_rate": 1e-4, "buffer_capacity": 1_000_000, "learning_starts": 100, "batch_size": 32, "train_frequency": 4,
        "target_update_interval": 10_000, "exploration_fraction": 0.1, "hidden_sizes": [64, 64],
    }  # fmt: skip
    assert {key: own[key] for key in theirs} == theirs
    assert sum(ours[key] != value for key, value in theirs.items()) >= 6, "were they ours, nothing would be tested"
    td3 = quiet("Pendulum-v1:\n  n_timesteps: 100\n", "td3", "Pendulum-v1").algo_kwargs
    assert td3["hidden_sizes"] == [400, 300] and td3["exploration_noise"] == 0.0


@pytest.mark.parametrize("algo", _zoo_settings.DEFAULTS)
def test_every_algorithm_of_the_zoo_is_ready_with_its_defaults(algo):
    env = "CartPole-v1" if algo in ("dqn", "qrdqn", "ppo", "a2c", "trpo", "ppo_lstm") else "Pendulum-v1"
    policy = "LinearPolicy" if algo == "ars" else "MlpPolicy"
    config = quiet(f"default:\n  n_timesteps: 200\n  policy: {policy}\n", algo, env)
    agent = axiomrl.make(config.algo, config)
    used = agent.config.algo_kwargs
    for key, value in config.algo_kwargs.items():
        assert used[key] == (pytest.approx(value) if isinstance(value, float) else value), key


def test_what_cannot_be_said_here_is_listed():
    with pytest.warns(UserWarning, match="the text, Hopper-v4") as told:
        config = from_sb3_zoo(PPO, "ppo", "Hopper-v5")
    assert config.unmapped == {"policy_kwargs.ortho_init": False, "use_sde": True, "sde_sample_freq": 4}
    for key in config.unmapped:
        assert f"{key} = " in str(told[0].message)
    assert Path(told[0].filename).name == "test_zoo.py", "the warning is shown where the file was asked for"
    assert config.env_id == "Hopper-v5" and config.tags == ["rl-zoo/ppo/Hopper-v4"]
    assert config.normalize_observation and config.normalize_reward
    own = config.algo_kwargs
    assert own["hidden_sizes"] == [256, 256] and own["activation"] == "relu" and own["log_std_init"] == -2
    # It is no part of the run.
    assert "unmapped" not in config.to_dict() and config.replace(seed=3).unmapped == config.unmapped


def test_sections_are_merged_and_normalisation_is_read():
    with pytest.warns(UserWarning):
        config = from_sb3_zoo(PPO, "ppo", "Walker2d-v4")
    assert config.total_timesteps == 2000 and config.algo_kwargs["hidden_sizes"] == [256, 256]
    assert (config.normalize_observation, config.normalize_reward) == (False, True)


def test_the_default_and_atari_are_what_others_get():
    config = quiet(PPO, "ppo", "Acrobot-v1")
    assert config.total_timesteps == 1_000_000 and config.num_envs == 1 and config.tags == ["rl-zoo/ppo/default"]
    pong = quiet(PPO, "ppo", "ALE/Pong-v5")
    assert pong.frame_stack == 4 and pong.num_envs == 8 and pong.algo_kwargs["hidden_sizes"] == [512]
    assert pong.env_kwargs == {"training": {"episodic_life": True}}
    older = quiet(PPO, "ppo", "PongNoFrameskip-v4")
    assert older.env_id == "ALE/Pong-v5" and older.env_kwargs["repeat_action_probability"] == 0.0
    versions = "A-v1:\n  n_timesteps: 1\nA-v4:\n  n_timesteps: 4\nB-v5:\n  n_timesteps: 5\n"
    assert [quiet(versions, "ppo", env).total_timesteps for env in ("A-v5", "A-v2", "A-v1")] == [4, 1, 1]
    with pytest.raises(ValueError, match="no settings for 'Acrobot-v1' and no `default`"):
        from_sb3_zoo(SAC, "sac", "Acrobot-v1")


def test_replay_is_counted_in_steps_of_all_environments():
    with pytest.warns(UserWarning):
        config = from_sb3_zoo(SAC, "sac", "MountainCarContinuous-v0")
    own = config.algo_kwargs
    assert config.num_envs == 4 and (own["train_frequency"], own["gradient_steps"]) == (32, -1)
    assert (own["ent_coef"], own["ent_coef_init"], own["exploration"]) == ("auto", 0.1, "state_dependent")
    assert config.unmapped == {"noise_std": 0.2, "policy_kwargs.log_std_init": -3.67, "policy_kwargs.use_expln": True}
    assert axiomrl.SAC(config).config.algo_kwargs["train_frequency"] == 32
    assert quiet(SAC, "sac", "Pendulum-v1").algo_kwargs["train_frequency"] == 1


def test_episodes_noise_and_what_has_no_place():
    with pytest.warns(UserWarning) as told:
        config = from_sb3_zoo(SAC, "sac", "LunarLanderContinuous-v3")
    assert config.unmapped == {"train_freq": [1, "episode"], "callback": "some.module.Callback"}
    assert "not by episodes" in str(told[0].message)
    own = config.algo_kwargs
    assert (own["train_frequency"], own["gradient_steps"]) == (1, -1)
    assert (own["exploration"], own["exploration_noise"]) == ("gaussian", 0.1)


def test_hindsight_is_a_setting():
    with pytest.warns(UserWarning):
        config = from_sb3_zoo(SAC, "sac", "Reach-v1")
    assert (config.algo_kwargs["n_sampled_goal"], config.algo_kwargs["goal_selection_strategy"]) == (6, "final")
    assert config.unmapped == {"replay_buffer_kwargs.online_sampling": True}
    older = "Reach-v1:\n  n_timesteps: 100\n  model_class: tqc\n  n_sampled_goal: 2\n"
    config = quiet(older, "her", "Reach-v1")
    assert config.algo == "tqc" and config.algo_kwargs["n_sampled_goal"] == 2
    with pytest.raises(ValueError, match="model_class"):
        from_sb3_zoo("Reach-v1:\n  n_timesteps: 100\n", "her", "Reach-v1")


def test_wrappers_are_those_of_installed_packages():
    text = (
        "Pendulum-v1:\n  n_timesteps: 64\n  env_wrapper:\n    - gymnasium.wrappers.moved.RescaleAction:\n"
        "        min_action: -1\n        max_action: 1\n    - no_such_package.Wrapper\n"
    )
    with pytest.warns(UserWarning, match="`no_such_package` is not installed"):
        config = from_sb3_zoo(text, "sac", "Pendulum-v1")
    assert config.env_kwargs == {"wrappers": [{"RescaleAction": {"min_action": -1, "max_action": 1}}]}
    # Wrappers go round Gymnasium's own environment.
    agent = axiomrl.SAC(config)
    assert config.env_id == "gymnasium:Pendulum-v1" and not agent.is_native
    assert agent.action_space.high.tolist() == [1.0]


def test_ars_and_memory_and_quantiles():
    ars = "Pendulum-v1:\n  n_timesteps: 9\n  policy: MlpPolicy\n  normalize: \"dict(norm_obs=True, norm_reward=False)\"\n  n_delta: 4\n"
    ars += "  n_top: 9\n  delta_std: 0.1\n  zero_policy: False\n  alive_bonus_offset: -1\n  policy_kwargs: \"dict(net_arch=[16])\"\n"
    own = quiet(ars, "ars", "Pendulum-v1").algo_kwargs
    assert (own["num_directions"], own["num_top_directions"], own["noise_std"], own["reward_shift"]) == (4, 4, 0.1, 1.0)
    assert own["hidden_sizes"] == [16] and own["observation_statistics"] is True
    memory = "X-v0:\n  n_timesteps: 9\n  policy: MlpLstmPolicy\n"
    memory += "  policy_kwargs: \"dict(lstm_hidden_size=32, net_arch=dict(pi=[8], vf=[8]))\"\n"
    config = quiet(memory, "ppo_lstm", "X-v0")
    assert config.algo == "recurrent_ppo" and config.algo_kwargs["recurrent_hidden_size"] == 32
    assert (config.algo_kwargs["hidden_sizes"], config.algo_kwargs["head_sizes"]) == ([], [8])
    quantiles = "X-v0:\n  n_timesteps: 9\n  policy_kwargs: \"dict(net_arch=[256, 256], n_quantiles=10)\"\n"
    for algo in ("qrdqn", "qr_dqn"):
        config = quiet(quantiles, algo, "X-v0")
        assert config.algo == "qr_dqn" and config.algo_kwargs["num_quantiles"] == 10


def test_a_file_and_a_folder_are_read(tmp_path):
    (tmp_path / "ppo.yml").write_text(PPO)
    for source in (tmp_path / "ppo.yml", str(tmp_path / "ppo.yml"), tmp_path, str(tmp_path)):
        assert quiet(source, "ppo", "CartPole-v1") == quiet(PPO, "ppo", "CartPole-v1")
    with pytest.raises(FileNotFoundError, match="sac.yml"):
        from_sb3_zoo(tmp_path, "sac", "Pendulum-v1")


@pytest.mark.parametrize(
    "text, algo, env, error, words",
    [
        (PPO, "ppoo", "CartPole-v1", ValueError, "did you mean 'ppo'"),
        (PPO, "ppo", 3, TypeError, "the id of an environment"),
        ("- 1\n- a: 2\n", "ppo", "CartPole-v1", ValueError, "no file of the zoo"),
        ("a: 1\n", "ppo", "CartPole-v1", ValueError, "no file of the zoo"),
        ("CartPole-v1:\n  policy: |\n", "ppo", "CartPole-v1", ValueError, "the text, line 2"),
    ],
)
def test_mistakes_are_named(text, algo, env, error, words):
    with pytest.raises(error, match=re.escape(words)):
        from_sb3_zoo(text, algo, env)


def test_what_no_section_says_is_listed_too():
    text = "CartPole-v1:\n  n_timesteps: many\n  train_freq: often\n  noise_std: [1]\n  env_wrapper: [[1]]\n  policy_kwargs: [64]\n"
    with pytest.warns(UserWarning, match="not understood"):
        config = from_sb3_zoo(text, "dqn", "CartPole-v1")
    assert set(config.unmapped) == {"n_timesteps", "train_freq", "noise_std", "env_wrapper.[1]", "policy_kwargs"}
    assert config.total_timesteps is None and config.algo_kwargs["hidden_sizes"] == [64, 64]


def test_nothing_in_a_file_is_run(tmp_path):
    text = "CartPole-v1:\n  n_timesteps: 9\n  policy_kwargs: \"dict(net_arch=open('ran', 'w'))\"\n  normalize: \"__import__('os')\"\n"
    with pytest.warns(UserWarning, match="it is not run"):
        config = from_sb3_zoo(text, "ppo", "CartPole-v1")
    assert set(config.unmapped) == {"policy_kwargs", "normalize"} and not config.normalize_observation
    assert not (tmp_path / "ran").exists()
