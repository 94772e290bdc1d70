"""Loops of one's own: collecting, updating, the replay."""

import filecmp
import json
import os
import signal
import threading

import axiomrl
import gymnasium
import numpy as np
import pytest
from axiomrl import DQN, DrQv2, Dreamer, PPO, SAC


def dqn(**settings):
    small = {"hidden_sizes": [16], "batch_size": 16, "learning_starts": 50, "train_frequency": 2, "num_envs": 2, "eval_episodes": 1}
    return DQN("CartPole-v1", **{"seed": 5, **small, **settings})


def sac(**settings):
    small = {"hidden_sizes": [16], "batch_size": 16, "learning_starts": 20, "num_envs": 1, "eval_episodes": 1}
    return SAC("Pendulum-v1", **{"seed": 5, **small, **settings})


def steps(n, seed=0):
    """Steps of noise for CartPole, as rows."""
    chance = np.random.default_rng(seed)
    return {
        "obs": chance.normal(size=(n, 4)).astype(np.float32),
        "action": chance.integers(2, size=n),
        "reward": chance.normal(size=n).astype(np.float32),
        "next_obs": chance.normal(size=(n, 4)).astype(np.float32),
        "terminated": np.arange(n) % 5 == 4,
    }


def check_same_checkpoints(one, other):
    ours, theirs = one.checkpoint_path, other.checkpoint_path
    names = sorted(path.name for path in theirs.iterdir())
    assert names == sorted(path.name for path in ours.iterdir())
    # The manifest counts seconds.
    same = [name for name in names if not name.startswith("manifest")]
    assert len(same) > 1 and filecmp.cmpfiles(ours, theirs, same, shallow=False)[0] == same


@pytest.mark.parametrize("make", [dqn, sac, lambda **more: PPO("CartPole-v1", num_steps=32, num_envs=4, seed=5, eval_episodes=1, **more)])
def test_collecting_and_updating_by_turns_is_learning_to_the_byte(make):
    due = {"eval_interval": 150, "log_interval": 70, "checkpoint_interval": 110}
    whole = make(**due).learn(300)
    agent = make(**due).begin(300)
    steps, returns, evaluations = 0, [], 0
    while True:
        told = agent.collect()
        steps += told["steps"]
        returns += told["returns"]
        evaluations += told["evaluation"] is not None
        if told["finished"]:
            break
        assert told["needs_update"]
        assert all(np.isfinite(value) for value in agent.update().values())
    assert steps == agent.num_timesteps == 300 and evaluations == 2
    assert agent.result["reason"] == "finished" and agent.result["updates"] == whole.result["updates"] > 0
    check_same_checkpoints(agent, whole)
    assert agent.metrics["step"].tolist() == whole.metrics["step"].tolist()
    assert agent.evaluate(2) == whole.evaluate(2)
    # What was finished by hand is finished; more is asked for as of any run.
    assert agent.collect() == {
        "steps": 0, "returns": [], "lengths": [], "evaluation": None, "needs_update": False, "finished": True
    }  # fmt: skip
    assert agent.begin(20).collect(5)["steps"] >= 1 and not agent.collect(1)["finished"]


def test_steps_and_updates_in_any_proportion():
    agent = dqn().begin(1_000)
    told = agent.collect(60)
    assert told["steps"] == 60 and not told["finished"] and len(told["returns"]) == len(told["lengths"]) > 0
    assert agent.collect(61)["steps"] == 62, "rounds of two environments"
    before = agent.get_parameters()
    metrics = agent.update(n=30)
    assert metrics and all(isinstance(value, float) for value in metrics.values())
    assert any((before[name] != value).any() for name, value in agent.get_parameters().items())
    assert agent.num_timesteps == 122
    agent.learn(1_000)
    # Steps 124 to 1122 call for an update after every second; those before were made by hand, or never.
    assert agent.result["updates"] == 30 + 500


def test_what_is_added_is_what_is_sampled():
    agent = dqn().begin(1_000)
    assert len(agent.replay) == 0 and agent.replay
    with pytest.raises(RuntimeError, match="empty"):
        agent.replay.sample(3)
    given = steps(40)
    assert agent.replay.add(**given, truncated=False) is None
    agent.replay.add(np.ones(4), 1, 0.5, np.zeros(4), False, True)
    assert len(agent.replay) == 41
    batch = agent.replay.sample(300)
    assert {name: (value.dtype, value.shape) for name, value in batch.items()} == {
        "obs": (np.float32, (300, 4)),
        "action": (np.int64, (300,)),
        "reward": (np.float32, (300,)),
        "next_obs": (np.float32, (300, 4)),
        "terminated": (np.bool_, (300,)),
        "truncated": (np.bool_, (300,)),
    }
    for row in range(300):
        found = np.flatnonzero((given["obs"] == batch["obs"][row]).all(axis=1))
        if len(found) == 0:
            assert (batch["obs"][row] == 1).all() and batch["reward"][row] == 0.5 and batch["truncated"][row]
        for name in given if len(found) else ():
            assert (given[name][found[0]] == batch[name][row]).all(), name
    assert all(np.isfinite(value) for value in agent.update(batch).values())
    agent.update(agent.replay.sample(5))
    assert agent.num_timesteps == 0


def test_a_loop_with_an_environment_of_ones_own():
    env = gymnasium.make("Pendulum-v1", max_episode_steps=50)
    agent = sac().begin(500)
    obs, _ = env.reset(seed=1)
    for step in range(120):
        action, _ = agent.predict(obs, deterministic=False)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        agent.replay.add(obs, action, reward, next_obs, terminated, truncated)
        obs = env.reset()[0] if terminated or truncated else next_obs
        if step >= 20:
            agent.update()
    batch = agent.replay.sample(64)
    assert len(agent.replay) == 120 and batch["action"].shape == (64, 1)
    assert np.abs(batch["action"]).max() > 1, "in the environment's units, from -2 to 2"
    # Its own environment goes on beside it.
    agent.collect(50)
    assert len(agent.replay) == 170
    assert len(agent.evaluate(2)["returns"]) == 2


def test_a_run_stepped_by_hand_is_saved_resumed_and_evaluated():
    agent = dqn(run_dir="run").begin(400)
    agent.collect(100)
    agent.replay.add(**steps(30))
    agent.update(n=5)
    agent.update(steps(20, seed=1))
    kept = agent.save("kept")
    measured = agent.evaluate(2)
    agent.learn()
    again = axiomrl.load(kept)
    assert again.evaluate(2) == measured
    assert len(again.replay) == 130
    # By turns here, by learn there.
    while not again.collect()["finished"]:
        again.update()
    check_same_checkpoints(again, agent)
    manifest = json.loads((again.checkpoint_path / "manifest.json").read_text())
    assert manifest["counters"]["updates"] == agent.result["updates"] == 6 + 150


def test_rows_are_weighed_and_discounted_as_they_say():
    agent = sac().begin(100)
    rows = {"obs": np.eye(3), "action": np.zeros((3, 1)), "reward": [0.0, 1, 2], "next_obs": np.eye(3), "terminated": [0, 0, 1]}
    parameters = []
    for more in ({}, {"discount": [0.0, 0.0, 0.0]}, {"weight": [1.0, 0.0, 0.0]}):
        agent = sac(run_dir=f"run{len(parameters)}").begin(100)
        agent.update({**rows, **more}, n=3)
        parameters.append(np.concatenate([value.ravel() for value in agent.get_parameters().values()]))
        agent.collect(1)
    assert not np.array_equal(parameters[0], parameters[1])


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"obs": np.zeros((3, 5))}, "`obs`.*shape"),
        ({"obs": np.full((3, 4), np.nan)}, "`obs`.*finite"),
        ({"obs": np.array([["a"] * 4] * 3)}, "`obs` is of type"),
        ({"next_obs": np.zeros((2, 4))}, "`obs` has 3 rows and `next_obs` 2"),
        ({"action": [0, 1, 2]}, "row 2.*none of the choices 0 to 1"),
        ({"action": [0, 0.5, 1]}, "row 1.*none of the choices"),
        ({"action": [0, 1]}, "`action` has the shape"),
        ({"action": ["left"] * 3}, "`action` is of type"),
        ({"reward": [0, 1, np.nan]}, "row 2.*reward is NaN"),
        ({"reward": [0, 1]}, "`reward` has the shape"),
        ({"reward": [0, [1], 2]}, "`reward`"),
        ({"terminated": [0, 1, 2]}, "`terminated` is of marks"),
        ({"action_masks": np.ones((3, 2))}, "takes no masks"),
    ],
)
def test_rows_that_are_wrong_are_refused_and_nothing_is_lost(changes, words):
    agent = dqn().begin(1_000)
    agent.replay.add(**steps(10))
    agent.update(n=2)
    before = agent.get_parameters()
    for hand in (lambda rows: agent.replay.add(**rows), agent.update):
        with pytest.raises(ValueError, match=words):
            hand({**steps(3), **changes})
    assert len(agent.replay) == 10
    assert all((before[name] == value).all() for name, value in agent.get_parameters().items())
    agent.update()


def test_actions_out_of_bounds_are_refused():
    agent = sac().begin(100)
    row = dict(obs=np.zeros(3), reward=0.0, next_obs=np.zeros(3), terminated=False)
    for action, words in (([2.5], "out of bounds"), ([np.inf], "has a inf"), (0.5, "`action` has the shape")):
        with pytest.raises(ValueError, match=words):
            agent.replay.add(action=action, **row)
    agent.replay.add(action=[-2.0], **row)
    assert agent.replay.sample(1)["action"] == -2


def test_batches_that_are_none_are_refused():
    agent = dqn().begin(1_000)
    for batch, error, words in (
        (7, TypeError, "n="),
        ({**steps(3), "dones": [0, 0, 1]}, ValueError, "no column 'dones'"),
        ({"obs": np.zeros((3, 4))}, ValueError, "`action` is missing"),
        ({**steps(3), "discount": [0.5, 2.0, 0.5]}, ValueError, "`discount` has 2"),
        ({**steps(3), "weight": [-1.0, 1, 1]}, ValueError, "`weight` has -1"),
        (steps(0), ValueError, "no rows"),
    ):
        with pytest.raises(error, match=words):
            agent.update(batch)
    for n, error in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error):
            agent.update(n=n)
        with pytest.raises(error):
            agent.collect(n)
    assert agent.update(steps(3), n=2)["loss"] > 0


def test_what_cannot_be_yet_is_said():
    with pytest.raises(TypeError, match="begin"):
        dqn().collect()
    agent = dqn().begin(1_000)
    with pytest.raises(RuntimeError, match="nothing to learn from yet"):
        agent.update()
    ppo = PPO("CartPole-v1", num_steps=32, num_envs=2).begin(1_000)
    with pytest.raises(RuntimeError, match="nothing to learn from now"):
        ppo.update()
    assert ppo.collect(1_000)["steps"] == 64
    with pytest.raises(RuntimeError, match="has to learn"):
        ppo.collect(10)
    ppo.update()


def test_ctrl_c_stops_collecting_and_nothing_is_lost():
    agent = dqn().begin(100_000_000)
    alarm = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        agent.collect(99_000_000)
    alarm.join()
    taken = agent.num_timesteps
    assert taken > 0 and len(agent.replay) == min(taken, 100_000), "which is all that it keeps"
    assert agent.collect(10)["steps"] == 10 and agent.num_timesteps == taken + 10
    agent.update()


def test_algorithms_without_a_replay_say_so_and_what_has_one():
    for agent in (PPO("CartPole-v1"), axiomrl.ARS("CartPole-v1"), Dreamer("CartPole-v1")):
        agent.begin(100)
        for use in (lambda: len(agent.replay), lambda: agent.replay.add(**steps(3)), lambda: agent.update(steps(3))):
            with pytest.raises(TypeError, match="keeps no replay.*dqn, sac or td3"):
                use()
        assert agent.collect(1)["steps"] >= 1
    recurrent = axiomrl.DRQN("CartPole-v1").begin(100)
    recurrent.replay.add(**steps(3))
    with pytest.raises(TypeError, match="sequences"):
        recurrent.update(steps(3))


def test_learners_of_recorded_steps_are_updated_by_hand():
    data = axiomrl.Dataset.from_numpy(
        np.random.default_rng(0).normal(size=(60, 3)), np.zeros((60, 1)), np.zeros(60), np.arange(60) % 10 == 9
    )
    settings = dict(dataset=data, hidden_sizes=[8], batch_size=16, seed=2, eval_episodes=1, eval_interval=7)
    whole = axiomrl.IQL("Pendulum-v1", **settings).learn(20)
    agent = axiomrl.IQL("Pendulum-v1", **settings).begin(20)
    agent.update(n=20)
    with pytest.raises(RuntimeError, match="made its 20 updates"):
        agent.update()
    assert agent.collect()["finished"]
    check_same_checkpoints(agent, whole)
    with pytest.raises(TypeError, match="recorded steps alone"):
        agent.replay.add(np.zeros(3), [0.0], 0.0, np.zeros(3), False)


def test_images_and_named_parts_come_out_as_they_went_in():
    env = gymnasium.spaces.Dict(
        camera=gymnasium.spaces.Box(0, 255, (36, 36, 1), np.uint8),
        gear=gymnasium.spaces.Discrete(3),
        speed=gymnasium.spaces.Box(-1, 1, (2,)),
    )

    class Driving(gymnasium.Env):
        observation_space, action_space = env, gymnasium.spaces.Box(-3, 1, (2,))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return env.sample(), {}

        def step(self, action):
            return env.sample(), 0.0, False, self.np_random.random() < 0.1, {}

    env.seed(1)
    agent = DrQv2(Driving, vision="small", hidden_sizes=[8], batch_size=4, num_envs=1, seed=1).begin(100)
    obs, led_to = env.sample(), env.sample()
    agent.replay.add(obs, [-3.0, 0.5], 1.0, led_to, False)
    batch = agent.replay.sample(2)
    for name, one in (("obs", obs), ("next_obs", led_to)):
        for part, value in one.items():
            assert batch[name][part].dtype == np.asarray(value).dtype and (batch[name][part] == value).all(), part
    assert batch["action"][1] == pytest.approx([-3.0, 0.5])
    agent.update(batch)
    with pytest.raises(ValueError, match="'speed'.*missing"):
        agent.replay.add({"camera": obs["camera"], "gear": 1}, [0.0, 0.0], 1.0, led_to, False)
