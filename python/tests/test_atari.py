"""Packaged configs of Atari: read whole, and run by the command line through a worker process."""

import json
import pathlib
import subprocess
import sys

import axiomrl
import pytest

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
ATARI = sorted(f"{path.parent.name}/{path.stem}" for path in CONFIGS.glob("*/*atari.yaml"))


def command(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "axiomrl", *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


def test_every_value_learner_has_settings_for_atari():
    values = [spec.name for spec in axiomrl.list_algorithm_specs() if "head" in spec.defaults]
    with_memory = {"drqn", "r2d2", "her"}
    assert {f"{name}/atari" for name in values if name not in with_memory} <= set(ATARI)


@pytest.mark.parametrize("name", ATARI)
def test_settings_fit_the_games(name):
    config = axiomrl.TrainConfig.from_file(name, total_timesteps=1000)
    agent = axiomrl.make(config.algo, config)
    assert not agent.is_native and agent.observation_space.shape[-1] in (1, 4)


def test_dreamer_on_breakout_trains_stops_resumes_and_is_evaluated():
    small = {"total_timesteps": 60, "eval_interval": 0, "eval_episodes": 1, "checkpoint_interval": 0}
    own = {"buffer_capacity": 500, "batch_size": 2, "batch_length": 8, "learning_starts": 20, "train_ratio": 2}
    widths = {"deter_size": 16, "hidden_size": 16, "units": 16, "conv_depth": 2, "latent_groups": 2, "latent_classes": 4}
    pairs = [f"{key}={value}" for key, value in small.items()]
    pairs += [f"algo_kwargs.{key}={value}" for key, value in {**own, **widths}.items()]
    pairs += ["env_kwargs.max_num_frames_per_episode=160"]
    command("train", "dreamer/breakout_atari", "--run-dir", "run", "--quiet", *[w for pair in pairs for w in ("--set", pair)])
    again = command("resume", "run", "--total-timesteps", 80, "--quiet", "--json")
    assert json.loads(again.stdout)["steps"] == 80
    found = json.loads(command("eval", "run", "--episodes", 1, "--json").stdout)
    assert found["mean_reward"] >= 0
    command("record", "run", "-o", "episode.gif", "--episodes", 1)
    assert pathlib.Path("episode.gif").read_bytes()[:4] == b"GIF8"
