"""Reads what this crate writes and writes what it reads, with numpy and the real Minari.

The first argument says what to do, the second is a folder, which is also the root of Minari's datasets. What must hold is
asserted here; what the other side has to look at is left in the folder.
"""

import json
import os
import sys
import warnings

folder = sys.argv[2]
os.environ["MINARI_DATASETS_PATH"] = folder

import gymnasium as gym  # noqa: E402
import minari  # noqa: E402
import numpy as np  # noqa: E402
from gymnasium import spaces  # noqa: E402
from minari.data_collector.episode_buffer import EpisodeBuffer  # noqa: E402

# A dataset that is not as it should be is listed with a warning.
warnings.simplefilter("error")


def path(name):
    return os.path.join(folder, name)


def read_npz():
    with open(path("expected.json")) as file:
        expected = json.load(file)
    with np.load(path("written.npz"), allow_pickle=False) as data:
        for key, (dtype, shape, values) in expected.items():
            array = data[key]
            assert array.dtype == np.dtype(dtype), (key, array.dtype)
            assert list(array.shape) == shape, (key, array.shape)
            assert np.array_equal(array.reshape(-1), np.array(values, dtype=dtype)), key
        assert set(expected) | {"axiomrl"} == set(data.files), data.files
        json.loads(data["axiomrl"].tobytes())


def write_npz():
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(40, 3))
    arrays = {
        "obs": obs[:-1],
        "next_obs": obs[1:],
        "actions": rng.integers(0, 4, size=39),
        "rewards": np.arange(39, dtype=np.float32),
        "terminations": np.arange(39) == 12,
        "truncations": np.arange(39) == 38,
    }
    np.savez(path("plain.npz"), **arrays)
    np.savez_compressed(path("packed.npz"), **arrays)
    np.savez(path("fortran.npz"), **{**arrays, "obs": np.asfortranarray(obs[:-1])})
    np.savez(path("big_endian.npz"), **{**arrays, "rewards": arrays["rewards"].astype(">f4")})
    objects = np.array([None] * 39, dtype=object)
    np.savez(path("objects.npz"), **{**arrays, "rewards": objects})


def read_minari():
    for name, episodes in [("own/plain-v0", 11), ("own/deep/dict-v3", 2)]:
        dataset = minari.load_dataset(name)
        assert dataset.total_episodes == episodes, dataset.total_episodes
        assert [episode.id for episode in dataset.iterate_episodes()] == list(range(episodes))
        for episode in dataset.iterate_episodes():
            first = episode.observations
            while isinstance(first, dict):
                first = next(iter(first.values()))
            assert len(first) == len(episode.rewards) + 1 == len(episode.actions) + 1
            assert episode.terminations.dtype == bool and episode.truncations.dtype == bool
            assert episode.rewards.dtype == np.float64
            assert f"total_steps={len(episode.rewards)}" in repr(episode)
            assert not (episode.terminations[:-1].any() or episode.truncations[:-1].any())
        total = sum(metadata["total_steps"] for metadata in dataset.storage.get_episode_metadata(range(episodes)))
        assert total == dataset.total_steps
    plain = minari.load_dataset("own/plain-v0")
    assert plain.observation_space.high[1] == np.inf and plain.observation_space.low[1] == -np.inf
    assert plain.observation_space.dtype == np.float32
    # What Gymnasium itself says of the environment, but for what the recording changed.
    spec, own = plain.env_spec, gym.spec("Pendulum-v1")
    for field in ["id", "entry_point", "reward_threshold", "nondeterministic", "vector_entry_point"]:
        assert getattr(spec, field) == getattr(own, field), field
    assert spec.max_episode_steps == 77 and spec.kwargs == {"g": 9.5}
    env = plain.recover_environment()
    assert env.unwrapped.g == 9.5
    for known in ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0"]:
        spec, own = minari.load_dataset(f"env/{known.lower()}").env_spec, gym.spec(known)
        assert spec.to_json() == own.to_json(), (spec, own)
    deep = minari.load_dataset("own/deep/dict-v3")
    episode = deep[0]
    assert set(episode.observations) == {"zebra", "camera", "inner"}
    assert episode.observations["camera"].dtype == np.uint8
    assert episode.observations["camera"].shape == (len(episode.rewards) + 1, 32, 32, 1)
    assert episode.observations["camera"][1].flat[5] == (32 * 32 + 5) % 256
    assert episode.observations["inner"]["gear"].dtype == np.int64
    assert deep.observation_space.contains(
        {"zebra": episode.observations["zebra"][0], "camera": episode.observations["camera"][0],
         "inner": {"gear": episode.observations["inner"]["gear"][0]}}
    )
    assert np.array_equal(episode.infos["action_mask"][0], [1, 0, 1])
    assert deep.action_space == spaces.Discrete(3)
    listed = minari.list_local_datasets()
    assert {"own/plain-v0", "own/deep/dict-v3"} <= set(listed), listed
    assert {"own", "own/deep"} <= set(minari.namespace.list_local_namespaces())
    # Episodes can be added to what was written here.
    plain.storage.update_episodes([plain_buffer(0)])
    assert minari.load_dataset("own/plain-v0").total_episodes == 12


def plain_buffer(number, steps=3):
    first = 100.0 * number
    return EpisodeBuffer(
        id=number if number else None,
        seed=2**63 + number,
        options={"a": {"b": 1.0}},
        observations=[np.array([first + t, 0.5], dtype=np.float32) for t in range(steps + 1)],
        actions=[np.array([t / 4], dtype=np.float32) for t in range(steps)],
        rewards=[first + t + 0.25 for t in range(steps)],
        terminations=[t == steps - 1 and number % 2 == 0 for t in range(steps)],
        truncations=[t == steps - 1 and number % 2 == 1 for t in range(steps)],
        infos={"distance": [float(t) for t in range(steps + 1)]},
    )


def dict_buffer(number, steps=3):
    return EpisodeBuffer(
        observations={
            "zebra": [np.array([number + t, -t], dtype=np.float64) for t in range(steps + 1)],
            "apple": (
                [np.int64(5 + (number + t) % 3) for t in range(steps + 1)],
                [np.array([1, 0, 1], dtype=np.int8) for t in range(steps + 1)],
            ),
        },
        actions=[np.int64(-1 + (number + t) % 4) for t in range(steps)],
        rewards=[1.0 for t in range(steps)],
        terminations=[False] * steps,
        truncations=[t == steps - 1 for t in range(steps)],
    )


def write_minari():
    warnings.simplefilter("ignore")
    high = np.array([np.inf, 1.0], dtype=np.float32)
    plain = {"observation_space": spaces.Box(-high, high), "action_space": spaces.Box(-2, 2, (1,))}
    parts = spaces.Dict(
        {
            "zebra": spaces.Box(-np.inf, np.inf, (2,), dtype=np.float64),
            "apple": spaces.Tuple((spaces.Discrete(3, start=5), spaces.MultiBinary(3))),
        }
    )
    mixed = {"observation_space": parts, "action_space": spaces.Discrete(4, start=-1)}
    for data_format in ["hdf5", "arrow"]:
        for name, buffer, described in [("plain", plain_buffer, plain), ("dict", dict_buffer, mixed)]:
            minari.create_dataset_from_buffers(
                f"minari/{data_format}/{name}-v0",
                [buffer(number) for number in range(11)],
                data_format=data_format,
                author="Somebody",
                **described,
            )
    image = spaces.Box(0, 255, (32, 32, 3), dtype=np.uint8)
    frames = [np.full((32, 32, 3), t, dtype=np.uint8) for t in range(4)]
    step = dict(actions=[np.int64(0)] * 3, rewards=[0.0] * 3, terminations=[False] * 3, truncations=[False] * 3)
    for name, data_format, packed in [
        ("packed", "hdf5", True), ("raw", "hdf5", False), ("packed_arrow", "arrow", True), ("raw_arrow", "arrow", False),
        ("parquet", "parquet", False),
    ]:
        minari.create_dataset_from_buffers(
            f"minari/images/{name}-v0",
            [EpisodeBuffer(observations=frames, **step)],
            observation_space=image,
            action_space=spaces.Discrete(2),
            data_format=data_format,
            jpeg_encoding=packed,
        )
    text = spaces.Dict({"mission": spaces.Text(5), "place": spaces.Discrete(2)})
    observed = {"mission": ["go"] * 4, "place": [np.int64(0)] * 4}
    minari.create_dataset_from_buffers(
        "minari/text-v0",
        [EpisodeBuffer(observations=observed, **step)],
        observation_space=text,
        action_space=spaces.Discrete(2),
    )
    env_data = EpisodeBuffer(
        observations=[np.zeros(3, dtype=np.float32)] * 4,
        actions=[np.zeros(1, dtype=np.float32)] * 3,
        **{key: value for key, value in step.items() if key != "actions"},
    )
    minari.create_dataset_from_buffers("minari/pendulum-v0", [env_data], env="Pendulum-v1", algorithm_name="SAC")


def there_and_back():
    """Many episodes through Minari: read one by one, and written again."""
    name = "many/episodes-v0"
    dataset = minari.load_dataset(name)
    assert list(minari.list_local_datasets()) == [name]
    assert dataset.total_episodes == 5000
    assert "total_steps" in repr(dataset[4321])

    def buffers():
        for episode in dataset.iterate_episodes():
            assert len(episode.observations["wide"]) == len(episode.rewards) + 1
            yield EpisodeBuffer(
                observations=episode.observations,
                actions=episode.actions,
                rewards=episode.rewards,
                terminations=episode.terminations,
                truncations=episode.truncations,
            )

    warnings.simplefilter("ignore")
    minari.create_dataset_from_buffers(
        "many/again-v0",
        buffers(),
        observation_space=dataset.observation_space,
        action_space=dataset.action_space,
    )


{
    "read_npz": read_npz,
    "write_npz": write_npz,
    "read_minari": read_minari,
    "write_minari": write_minari,
    "there_and_back": there_and_back,
}[sys.argv[1]]()
