import os
import signal

import pytest

# Tests that were started in the background may ignore what Ctrl-C sends, and so would the programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Runs go to `runs` below the current folder unless told otherwise."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small():
    """Settings of a run that takes a moment."""
    return {"num_envs": 2, "seed": 3, "eval_episodes": 2, "num_steps": 32, "minibatch_size": 32, "update_epochs": 2}


@pytest.fixture
def root():
    """The repository."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
