"""The command line of the wheel, and what it shares with the classes."""

import filecmp
import json
import subprocess
import sys

import axiomrl
import pytest


def axiomrl_command(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "axiomrl", *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_console_script_is_the_same_program():
    assert axiomrl.__version__ in axiomrl_command("--version")
    assert "did you mean" in axiomrl_command("explain", "ppoo", code=2)
    assert "Usage" in axiomrl_command("train", "--nonsense", code=2)


def test_both_write_the_same_checkpoint_to_the_byte(tmp_path):
    words = ["total_timesteps=600", "seed=9", "num_envs=2", "eval_episodes=2", "output_dir=same"]
    sets = [word for pair in words for word in ("--set", pair)]
    axiomrl_command("train", "dqn/cartpole", "--quiet", "--run-dir", tmp_path / "cli", *sets)
    changes = dict(pair.split("=") for pair in words)
    changes = {key: value if key == "output_dir" else int(value) for key, value in changes.items()}
    config = axiomrl.TrainConfig.from_file("dqn/cartpole", **changes)
    agent = axiomrl.DQN(config=config, run_dir=tmp_path / "python").learn()
    ours, theirs = agent.checkpoint_path, tmp_path / "cli" / "checkpoints" / "last"
    names = sorted(path.name for path in theirs.iterdir())
    assert names == sorted(path.name for path in ours.iterdir())
    # The manifest counts seconds, and its digest follows from it.
    same = [name for name in names if not name.startswith("manifest")]
    assert filecmp.cmpfiles(ours, theirs, same, shallow=False)[0] == same
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (ours, theirs)]
    for manifest in manifests:
        del manifest["counters"]["seconds"]
        manifest["state"].pop("clock", None)
    assert manifests[0] == manifests[1]


def test_each_opens_what_the_other_wrote(tmp_path):
    agent = axiomrl.PPO("CartPole-v1", seed=2, num_steps=32, eval_episodes=2, run_dir=tmp_path / "run").learn(64)
    told = json.loads(axiomrl_command("eval", agent.run_dir, "--checkpoint", "last", "--episodes", 3, "--json"))
    assert told["returns"] == agent.evaluate(3)["returns"]
    agent.close()
    axiomrl_command("resume", agent.run_dir, "--total-timesteps", 128, "--quiet")
    assert axiomrl.PPO.load(agent.run_dir).num_timesteps == 128


def test_seeds_run_in_processes_of_their_own(tmp_path):
    sets = ["--set", "total_timesteps=64", "--set", "algo_kwargs.num_steps=32", "--set", "eval_episodes=1", "--set", "num_envs=1"]
    told = axiomrl_command("train", "ppo/cartpole", "--seeds", "1,2", "--run-dir", tmp_path / "seeds", "--quiet", *sets)
    assert (tmp_path / "seeds" / "seed2" / "config.yaml").is_file(), told


@pytest.mark.parametrize("name", ["ppo/cartpole", "sac/pendulum"])
def test_packaged_run_files_are_configs(name):
    config = axiomrl.TrainConfig.from_file(name, seed=7, algo_kwargs={"gamma": 0.5})
    assert (config.algo, config.seed, config.algo_kwargs["gamma"]) == (name.split("/")[0], 7, 0.5)
    with pytest.raises(ValueError, match="gama"):
        axiomrl.TrainConfig.from_file(name, algo_kwargs={"gama": 0.5})
    with pytest.raises(FileNotFoundError):
        axiomrl.TrainConfig.from_file("ppo/nowhere")
