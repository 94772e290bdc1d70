"""The scripts of the plans, each for a moment, and the tutorial."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*_reference.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_a_script_trains_and_measures(script, tmp_path):
    assert len(EXAMPLES) == 9
    words = ["--total-timesteps", "48", "--output-dir", tmp_path / "runs", "--seed", "3", "--eval-episodes", "1"]
    env = {**os.environ, "RAYON_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script, *map(str, words)], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    assert "trained     48 steps" in done.stdout and "best policy" in done.stdout
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_the_tutorial_does_what_it_says(root, tmp_path):
    script = Path(root) / "examples" / "tutorial.py"
    env = {**os.environ, "RAYON_NUM_THREADS": "1"}
    words = [sys.executable, str(script), "--output-dir", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    told = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.stdout.splitlines()}
    assert list(told) == ["train", "callback", "load", "go", "policy", "resume", "own", "data", "clone"]
    before, after = (float(word) for word in re.findall(r"(\d+) (?:before|after)", told["train"]))
    assert after > 2 * before, told["train"]
    assert "interrupted at" in told["callback"]
    assert told["load"].startswith("PPO after 10000 steps pushes right") and "11000 steps" in told["go"]
    assert told["resume"].endswith("ended at 4000, the same as without a stop: True")
    assert told["own"].endswith("heats at 16 degrees: 1, at 24: 0")
    assert "2000 steps in" in told["data"] and int(re.search(r"(\d+) %", told["clone"])[1]) > 80
