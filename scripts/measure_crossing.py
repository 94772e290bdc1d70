"""What it costs to step environments of Python's, beyond their own time: in this process, and in a worker with eight of them.

An environment that does nothing is stepped by a plain loop, and by an agent that collects and never learns, here and in a worker. In turns,
the best of each. Needs the package `axiomrl` and, for the worker, its program `axiomrl` beside this Python.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import gymnasium
import numpy as np

HERE = pathlib.Path(__file__).resolve()


class Still(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.shown, self.steps, self.render_mode = np.zeros(4, np.float32), 0, render_mode

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.shown, {}

    def step(self, action):
        self.steps += 1
        return self.shown, 1.0, False, self.steps >= 500, {}


gymnasium.register(
    "Still-v0", entry_point=lambda **options: Still(**options), disable_env_checker=True, order_enforce=False
)


def plain_loop(steps):
    env = Still()
    env.reset()
    for _ in range(steps):
        *_, truncated, _ = env.step(0)
        if truncated:
            env.reset()


def collecting(env, steps, envs=1):
    from axiomrl import DQN

    DQN(env, num_envs=envs, learning_starts=10**9, buffer_capacity=1000, eval_interval=0, checkpoint_interval=0).learn(steps)


def in_worker(env, steps, envs=8):
    keys = ["eval_interval=0", "checkpoint_interval=0", "eval_episodes=1", f"num_envs={envs}"]
    keys += ["algo_kwargs.learning_starts=1000000000", "algo_kwargs.buffer_capacity=1000"]
    with tempfile.TemporaryDirectory() as folder:
        command = [str(pathlib.Path(sys.executable).with_name("axiomrl")), "train", "dqn", "--env", env, "--quiet"]
        command += ["--threads", "1", "--total-timesteps", str(steps), "--python", sys.executable]
        command += ["--run-dir", f"{folder}/run", *(word for key in keys for word in ("--set", key))]
        paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.DEVNULL)


def timed(work, *arguments):
    """Microseconds a step: of many steps without those of few, so that making everything ready does not count."""
    begun = time.perf_counter()
    work(*arguments, STEPS // 10)
    middle = time.perf_counter()
    work(*arguments, STEPS)
    return ((time.perf_counter() - middle) - (middle - begun)) / (STEPS * 0.9) * 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    STEPS = options.steps
    worker = f"{HERE.stem}:Still-v0"
    works = {
        "the environment's own": (plain_loop,),
        "an agent in this process": (lambda steps: collecting(Still, steps),),
        "eight in a worker, each": (lambda steps: in_worker(worker, steps),),
    }
    best = dict.fromkeys(works, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for _ in range(options.rounds):
            for name, work in works.items():
                best[name] = min(best[name], timed(*work))
    for name, micros in best.items():
        print(f"{micros:8.2f} µs  {name}")
    own, here, apart = best.values()
    print(f"beyond the environment's own, in this process: {here - own:.2f} µs a step, the engine's work included")
    print(f"beyond the environment's own, in a worker: {apart - own:.2f} µs an environment's step, the engine's work included")
