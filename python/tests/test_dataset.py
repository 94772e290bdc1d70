"""Recorded transitions."""

import os
import subprocess
import sys

import axiomrl
import numpy as np
import pytest
from axiomrl import Dataset, TrainConfig


def record(steps=200, seed=0, length=50):
    """Steps in a pendulum, most of them towards the top, in episodes that the clock ends."""
    env, chance = axiomrl.gym.make("Pendulum-v1"), np.random.default_rng(seed)
    rows = {name: [] for name in ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")}
    seen, _ = env.reset(seed=seed)
    for step in range(steps):
        action = np.clip(-2 * seen[1:2] + chance.normal(size=1), -2, 2).astype(np.float32)
        after, reward, terminated, _, _ = env.step(action)
        late = (step + 1) % length == 0
        for name, value in zip(rows, (seen, action, reward, terminated, late, after)):
            rows[name].append(value)
        seen = env.reset()[0] if late else after
    return {name: np.array(value) for name, value in rows.items()}


@pytest.fixture(scope="module")
def arrays():
    return record()


def test_numbers_go_in_and_come_out(arrays):
    data = Dataset.from_numpy(**arrays)
    assert len(data) == 200 and data.num_episodes == 4 and data.episode_lengths.tolist() == [50] * 4
    assert np.allclose(data.episode_returns, arrays["rewards"].reshape(4, 50).sum(axis=1), atol=1e-3)
    for name, value in arrays.items():
        assert np.allclose(getattr(data, name), value, atol=1e-6), name
    assert data.observations.dtype == data.rewards.dtype == np.float32 and data.terminations.dtype == bool
    assert "200 steps in 4 episodes (0 terminated)" in repr(data) and "obs float32[3]" in repr(data)
    with pytest.raises(ValueError, match="read-only"):
        data.rewards[0] = 1.0
    seen = np.zeros((3, 2), np.float32)
    whole = Dataset.from_numpy(seen, np.array([0, 2, 1]), [0, 0, 1], [False, False, True], next_observations=seen)
    assert np.shares_memory(whole.observations, seen), "what has the right type is not copied"
    seen[0] = 0.0  # Nor is it locked: whoever handed it over may go on writing to it.
    assert whole.actions.dtype == np.int64 and whole.terminations.tolist() == [False, False, True]


def test_ends_are_seen_where_rows_do_not_follow():
    seen = np.arange(6.0)[:, None]
    after = seen + 1
    after[2] = 9.0
    data = Dataset.from_numpy(seen, np.zeros((6, 1)), np.ones(6), np.zeros(6), next_observations=after)
    assert data.episode_lengths.tolist() == [3, 3] and data.episode_returns.tolist() == [3.0, 3.0]
    after[2] = 3.0
    assert Dataset.from_numpy(seen, np.zeros((6, 1)), np.ones(6), np.zeros(6), next_observations=after).num_episodes == 1
    # Over more rows than are compared at a time, and in bytes.
    many = np.arange(5000) // 20
    seen, after = many.astype(np.uint8)[:, None], np.roll(many, -1).astype(np.uint8)[:, None]
    after[[1023, 1024, 4000], 0] += 1
    data = Dataset.from_numpy(seen, np.zeros(5000, int), np.ones(5000), np.zeros(5000), next_observations=after)
    assert np.cumsum(data.episode_lengths).tolist() == [1024, 1025, 4001, 5000]


def test_without_next_observations_the_rows_say_what_followed():
    seen, rewards = np.arange(8.0)[:, None], np.arange(8.0)
    terminations, truncations = np.zeros(8, bool), np.zeros(8, bool)
    terminations[2], truncations[5] = True, True
    with pytest.warns(UserWarning, match="what they led to: 2;"):
        data = Dataset.from_numpy(seen, np.zeros((8, 1)), rewards, terminations, truncations)
    # The step that the clock ended and the last one led nobody knows where.
    assert data.rewards.tolist() == [0, 1, 2, 3, 4, 6]
    assert data.next_observations[:, 0].tolist() == [1, 2, 2, 4, 5, 7]
    assert data.terminations.tolist() == [False, False, True, False, False, False]
    assert data.truncations.tolist() == [False, False, False, False, True, True]
    assert data.episode_lengths.tolist() == [3, 2, 1]
    terminations[7] = True
    with pytest.warns(UserWarning, match="what they led to: 1;"):
        assert Dataset.from_numpy(seen, np.zeros((8, 1)), rewards, terminations, truncations).rewards.tolist() == [0, 1, 2, 3, 4, 6, 7]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"rewards": [0.0, np.nan]}, "`rewards` is nan in row 1"),
        ({"observations": [[0.0, np.inf], [0.0, 0.0]]}, "`observations` is inf in row 0"),
        ({"actions": np.zeros((3, 1))}, "`actions` has 3 rows, where `observations` has 2"),
        ({"rewards": np.zeros((2, 2))}, "`rewards` has rows of shape (2,)"),
        ({"terminations": [0, 2]}, "`terminations` is 2 in row 1"),
        ({"next_observations": np.zeros((2, 3))}, "`next_observations` has rows of shape (3,)"),
        ({"next_observations": {"a": np.zeros((2, 2))}}, "`next_observations['a']`"),
        ({"observations": [[1.0], [1.0, 2.0]]}, "all rows of the same shape"),
        ({"actions": ["left", "right"]}, "one array of numbers"),
        ({"actions": None}, "`actions` is missing"),
        ({"observations": {}}, "`observations` has no parts"),
        ({"rewards": 1.0}, "`rewards` is a single number"),
        ({"action_masks": np.ones((2, 2))}, "come together"),
        ({"observations": [], "actions": [], "rewards": [], "terminations": [], "next_observations": []}, "`observations` is empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(change, words):
    good = {
        "observations": np.zeros((2, 2)), "actions": np.zeros((2, 1)), "rewards": np.zeros(2), "terminations": np.zeros(2),
        "next_observations": np.zeros((2, 2)),
    }  # fmt: skip
    Dataset.from_numpy(**good)
    with pytest.raises(ValueError) as told:
        Dataset.from_numpy(**{**good, **change})
    assert words in str(told.value)


def test_a_file_holds_it_all(arrays, tmp_path):
    data = Dataset.from_numpy(**arrays)
    path = data.save_npz(tmp_path / "below" / "data.npz")
    assert path == tmp_path / "below" / "data.npz" and os.listdir(path.parent) == ["data.npz"]
    again = Dataset.from_npz(path)
    assert again.digest() == data.digest() and repr(again) == repr(data)
    # It is a file of the command line, too.
    words = ["-m", "axiomrl", "dataset", "info", str(path), "--env", "Pendulum-v1"]
    told = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert told.returncode == 0 and "200" in told.stdout, told.stderr
    parts = Dataset.from_numpy(
        {"a": np.zeros((2, 3)), "b": np.zeros((2, 4, 4, 1), np.uint8)}, [0, 1], [0, 1], [0, 1], next_observations={
            "a": np.zeros((2, 3)), "b": np.zeros((2, 4, 4, 1), np.uint8)},
    )  # fmt: skip
    again = Dataset.from_npz(parts.save_npz(tmp_path / "parts.npz"))
    assert again.observations["b"].dtype == np.uint8 and again.observations["a"].shape == (2, 3)


def test_other_files_are_read_or_refused(arrays, tmp_path):
    d4rl = {"observations": arrays["observations"], "actions": arrays["actions"], "rewards": arrays["rewards"]}
    path = tmp_path / "d4rl.npz"
    np.savez(path, **d4rl, terminals=arrays["terminations"], timeouts=arrays["truncations"])
    with pytest.warns(UserWarning, match="what they led to: 4;"):
        assert Dataset.from_npz(path).episode_lengths.tolist() == [49] * 4
    np.savez(path, **d4rl)
    with pytest.raises(ValueError, match="d4rl.npz: `terminations` is missing"):
        Dataset.from_npz(path)
    np.savez(path, obs=arrays["observations"], rewards=arrays["rewards"])
    with pytest.raises(ValueError, match="`actions` is missing; the file has `obs`, `rewards`"):
        Dataset.from_npz(path)
    np.savez(path, obs=np.array([{}, 1], dtype=object))
    with pytest.raises(ValueError, match="`obs` holds objects"):
        Dataset.from_npz(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="no archive that can be read"):
        Dataset.from_npz(path)
    with pytest.raises(FileNotFoundError):
        Dataset.from_npz(tmp_path / "nowhere.npz")


def test_a_dataset_of_minari_is_read_by_its_id_and_by_its_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    words = "-m axiomrl dataset collect --scripted --env Pendulum-v1 --transitions 400 --minari pendulum/some-v0".split()
    made = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    data = Dataset.from_minari("pendulum/some-v0")
    assert data.observations.shape == (400, 3) and data.num_episodes == 2 and data.episode_lengths.tolist() == [200, 200]
    assert Dataset.from_minari(tmp_path / "minari" / "pendulum" / "some-v0").digest() == data.digest()
    with pytest.raises(ValueError, match="no such file or folder.*minari download nobody/knows-v0"):
        Dataset.from_minari("nobody/knows-v0")


SMALL = {"hidden_sizes": [16], "batch_size": 16, "eval_episodes": 1}


def test_algorithms_learn_from_it(arrays):
    data = Dataset.from_numpy(**arrays)
    agent = axiomrl.IQL("Pendulum-v1", dataset=data, **SMALL).learn(20)
    named = agent.config.dataset
    assert named["dataset_kind"] == "npz" and Dataset.from_npz(named["dataset_path"]).digest() == data.digest()
    assert os.path.dirname(named["dataset_path"]) == os.path.join(os.getcwd(), "runs", "datasets")
    # It is written once, and a run goes on without the object.
    before = os.stat(named["dataset_path"]).st_mtime_ns
    axiomrl.IQL("Pendulum-v1", dataset=data, **SMALL)
    assert os.stat(named["dataset_path"]).st_mtime_ns == before
    agent.close()
    assert axiomrl.IQL.resume(agent.run_dir, total_timesteps=30).result["updates"] == 30
    rlpd = axiomrl.RLPD("Pendulum-v1", dataset=data, learning_starts=8, gradient_steps=1, **SMALL).learn(32)
    assert rlpd.num_timesteps == 32


def test_it_is_what_is_learned_from(arrays):
    # Cloning a constant: the policy of other data would do something else.
    steady = {**arrays, "actions": np.full((200, 1), 1.5, np.float32)}
    agent = axiomrl.BC("Pendulum-v1", dataset=Dataset.from_numpy(**steady), hidden_sizes=[16], learning_rate=0.01, eval_interval=0)
    agent.learn(300)
    actions, _ = agent.predict(arrays["observations"])
    assert np.abs(actions - 1.5).mean() < 0.1


def test_other_ways_to_hand_it_over(arrays, tmp_path):
    data = Dataset.from_numpy(**arrays)
    own = {"hidden_sizes": [8]}
    config = TrainConfig("iql", "Pendulum-v1", total_timesteps=5, dataset=data, output_dir=tmp_path / "out", algo_kwargs=own)
    agent = axiomrl.IQL(config).learn()
    assert os.path.dirname(agent.config.dataset["dataset_path"]) == str(tmp_path / "out" / "datasets")
    scaled = axiomrl.IQL("Pendulum-v1", dataset=data.block(tmp_path / "mine", reward_scale=0.1))
    assert scaled.config.dataset["reward_scale"] == pytest.approx(0.1)
    assert len(list((tmp_path / "mine").iterdir())) == 1
    placed = axiomrl.IQL("Pendulum-v1", dataset=data, run_dir=tmp_path / "here" / "run")
    assert os.path.dirname(placed.config.dataset["dataset_path"]) == str(tmp_path / "here" / "datasets")
    packaged = TrainConfig.from_file("iql/pendulum_narrow", dataset=data)
    assert packaged.dataset["dataset_kind"] == "npz" and packaged.dataset["dataset_id"] is None


def test_an_expert_is_imitated_and_what_does_not_fit_is_refused(arrays):
    chance = np.random.default_rng(1)
    seen = chance.normal(size=(64, 4)).astype(np.float32)
    steps = {"rewards": np.ones(64), "terminations": np.arange(64) % 8 == 7, "next_observations": np.roll(seen, -1, axis=0)}
    expert = Dataset.from_numpy(seen, (seen[:, 2] > 0).astype(int), **steps)
    agent = axiomrl.GAIL("CartPole-v1", dataset=expert, num_envs=2, num_steps=32, minibatch_size=32, eval_episodes=1).learn(64)
    assert agent.num_timesteps == 64
    with pytest.raises(ValueError, match="shape"):
        axiomrl.IQL("Pendulum-v1", dataset=expert).learn(5)
