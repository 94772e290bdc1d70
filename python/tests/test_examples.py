"""The scripts of the plans, each for a moment."""

import os
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
