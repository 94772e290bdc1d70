"""What docs/from-axiomrl.md says of the former package's words."""

import axiomrl
import numpy as np
import pytest
from axiomrl import TrainConfig

HEAD = "env_id: {env}\nseed: 1\ntotal_timesteps: 1000\nnum_envs: 1\noutput_dir: runs\neval_episodes: 5\nlog_interval: 1\n"


def read(tmp_path, algo, env, more):
    path = tmp_path / "run.yaml"
    path.write_text(f"algo: {algo}\n{HEAD.format(env=env)}{more}\n")
    return TrainConfig.from_file(path)


@pytest.mark.parametrize(
    "algo, env, more, expected",
    [
        ("td3", "Pendulum-v1", "algo_kwargs: {noise_clip: 0.4, gradient_updates_per_step: 2}", {"target_noise_clip": 0.4, "gradient_steps": 2}),
        ("ppo", "CartPole-v1", "algo_kwargs: {clip_coef: {linear: [0.2, 0]}, update_epochs: 4}", {"update_epochs": 4}),
        ("dqn", "CartPole-v1", "algo_kwargs: {epsilon_start: 1.0, epsilon_end: 0.1, exploration_fraction: 0.3}", {"epsilon_end": 0.1}),
        ("trpo", "CartPole-v1", "algo_kwargs: {max_kl: 0.01, cg_iterations: 10, line_search_shrink: 0.8}", {"cg_iterations": 10}),
    ],
)  # fmt: skip
def test_settings_that_mean_the_same_are_read(tmp_path, algo, env, more, expected):
    own = read(tmp_path, algo, env, more).algo_kwargs
    assert {key: own[key] for key in expected} == pytest.approx(expected)


def test_recorded_data_is_named_as_before(tmp_path):
    np.savez(tmp_path / "data.npz", obs=np.zeros((2, 3)))
    more = f"algo_kwargs: {{expert_dataset_kind: npz, expert_dataset_path: {tmp_path / 'data.npz'}}}"
    assert read(tmp_path, "gail", "CartPole-v1", more).dataset["dataset_kind"] == "npz"
    more = "algo_kwargs: {dataset_kind: random, dataset_size: 100, dataset_seed: 3}"
    assert read(tmp_path, "iql", "Pendulum-v1", more).dataset["dataset_size"] == 100


@pytest.mark.parametrize(
    "more, words",
    [
        ("execution_backend: local_sync", "execution_backend"),
        ("benchmark: {seeds: [1, 2]}", "benchmark"),
        ("algo_kwargs: {eval_interval: 100}", "eval_interval"),
        ("algo_kwargs: {clip_coef_schedule: {type: linear, start: 0.2, end: 0}}", "did you mean `clip_coef`"),
        ("early_stopping: {target_value: 3}", "target_reward"),
        ("device: cuda", "auto, cpu"),
        ("env_kwargs: {wrappers: {pixels: true}}", "wrappers"),
    ],
)
def test_what_has_changed_is_refused_by_its_name(tmp_path, more, words):
    with pytest.raises(ValueError, match=words):
        read(tmp_path, "ppo", "CartPole-v1", more)


def test_keywords_in_python():
    own = axiomrl.SAC("Pendulum-v1", alpha=0.2, num_critics=3).config.algo_kwargs
    assert own["ent_coef"] == pytest.approx(0.2) and own["n_critics"] == 3
    assert axiomrl.TQC("Pendulum-v1", num_quantiles=11).config.algo_kwargs["n_quantiles"] == 11
    assert axiomrl.D4PG("Pendulum-v1", num_atoms=21).config.algo_kwargs["n_atoms"] == 21


def test_the_names_that_are_said_to_be_here_are(root):
    page = open(f"{root}/docs/from-axiomrl.md").read()
    gone = page.partition("Not here are")[2].partition("`axiomrl algos`")[0].split("`")[1::2]
    assert len(gone) == 16 and not set(gone) & set(axiomrl.list_algorithms())
    for name in ("DoubleDQN", "DiscreteSAC", "DrQv2"):
        assert f"`{name}`" in page and hasattr(axiomrl, name)


def test_its_data_files_are_read(tmp_path):
    obs = np.arange(6, dtype=np.float32)[:, None]
    arrays = {"obs": obs, "actions": np.zeros((6, 1), np.float32), "rewards": np.ones(6), "next_obs": obs + 1}
    np.savez(tmp_path / "old.npz", **arrays, dones=np.array([0, 0, 1, 0, 0, 1]), returns_to_go=np.zeros(6))
    data = axiomrl.Dataset.from_npz(tmp_path / "old.npz")
    assert data.terminations.sum() == 2 and not data.truncations.any() and data.episode_lengths.tolist() == [3, 3]
