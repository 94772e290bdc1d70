#!/usr/bin/env python3
"""Records episodes of Gymnasium's classic environments as fixtures for the parity tests of axiomrl-envs.

Needs the real thing: `pip install gymnasium` (1.x). Run from anywhere:

    python scripts/record_gymnasium.py

Each file holds whole episodes: the initial state, the actions in the environment's own units, the observations
(the first one included), the rewards, and how the episode ended. Earlier steps never end one.
"""

import json
import math
import random
from pathlib import Path

import gymnasium
import numpy as np

FIXTURES = Path(__file__).parent.parent / "crates" / "axiomrl-envs" / "tests" / "fixtures"


def on_grid(value):
    """Continuous actions are multiples of 1/64: exact in single precision and short in the file."""
    return round(value * 64) / 64


def any_of(n):
    return lambda rng, obs, t: rng.randrange(n)


def any_in(low, high):
    return lambda rng, obs, t: on_grid(rng.uniform(low, high))


# For each environment, policies and how often to use each. Together they reach both endings where both exist, the walls
# and limits of the state, and (continuous) actions outside the box.
PLANS = {
    "CartPole-v1": [
        (any_of(2), 4),
        (lambda rng, obs, t: 1, 1),
        (lambda rng, obs, t: int(obs[2] + 0.3 * obs[3] + 0.02 * obs[0] + 0.05 * obs[1] > 0), 2),
        # Kept leaning, the pole carries the cart off either end of the rail.
        (lambda rng, obs, t: int(obs[2] - 0.05 + 0.3 * obs[3] > 0), 1),
        (lambda rng, obs, t: int(obs[2] + 0.05 + 0.3 * obs[3] > 0), 1),
    ],
    "Pendulum-v1": [
        (any_in(-2, 2), 3),
        (any_in(-4, 4), 1),
        (lambda rng, obs, t: 2.0 if obs[2] > 0 else -2.0, 1),
        (lambda rng, obs, t: on_grid(1.5 * math.sin(t / 7)), 1),
    ],
    "Acrobot-v1": [
        (any_of(3), 2),
        (lambda rng, obs, t: 2 if obs[5] > 0 else 0, 3),
        (lambda rng, obs, t: 2 if obs[4] > 0 else 0, 1),
    ],
    "MountainCar-v0": [
        (any_of(3), 2),
        (lambda rng, obs, t: 2 if obs[1] >= 0 else 0, 3),
        (lambda rng, obs, t: 0 if t % 80 < 40 else 2, 1),
    ],
    "MountainCarContinuous-v0": [
        (any_in(-1, 1), 2),
        (lambda rng, obs, t: 1.0 if obs[1] >= 0 else -1.0, 2),
        (lambda rng, obs, t: on_grid(rng.uniform(0.5, 1.5)) * (1 if obs[1] >= 0 else -1), 2),
    ],
}


def short(values):
    """Single-precision numbers with the fewest digits that still name them."""
    return [float(str(np.float32(v))) for v in values]


def record(env, policy, seed):
    rng = random.Random(seed)
    obs, _ = env.reset(seed=seed)
    episode = {"state": [float(v) for v in env.unwrapped.state], "actions": [], "obs": [short(obs)], "rewards": []}
    continuous = isinstance(env.action_space, gymnasium.spaces.Box)
    while True:
        action = policy(rng, obs, len(episode["actions"]))
        given = np.array([action], dtype=np.float32) if continuous else np.int64(action)
        obs, reward, terminated, truncated, _ = env.step(given)
        episode["actions"].append(action)
        episode["obs"].append(short(obs))
        episode["rewards"].append(float(reward))
        if terminated or truncated:
            return episode | {"terminated": bool(terminated), "truncated": bool(truncated)}


def main():
    FIXTURES.mkdir(parents=True, exist_ok=True)
    for name, plan in PLANS.items():
        env = gymnasium.make(name)
        episodes, seed = [], 0
        for policy, count in plan:
            for _ in range(count):
                episodes.append(record(env, policy, seed))
                seed += 1
        fixture = {"gymnasium": gymnasium.__version__, "env": name, "episodes": episodes}
        path = FIXTURES / f"{name}.json"
        path.write_text(json.dumps(fixture, separators=(",", ":")) + "\n")
        endings = [(len(e["actions"]), "terminated" if e["terminated"] else "truncated") for e in episodes]
        print(f"{path.name}: {path.stat().st_size} bytes, {endings}")


if __name__ == "__main__":
    main()
