"""One training run of Stable-Baselines3 or sb3-contrib, for `cargo xtask parity`: the work is its only argument, as JSON, and the
result is one line of JSON.

A work has `algo`, `env`, `envs`, `steps`, `seed`, `normalize`, `visible` (places of an observation that are shown, or null),
`settings` (keywords of the library), `reset_seeds` and `starts` (first observations of the evaluation's episodes, or null).
"""

import json
import sys
import time

import common

common.limit(1)

import gymnasium  # noqa: E402  (after the thread limits)
import numpy as np  # noqa: E402
import torch  # noqa: E402
from sb3_contrib import TQC, RecurrentPPO  # noqa: E402
from stable_baselines3 import DDPG, DQN, PPO, SAC, TD3  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

ALGORITHMS = {"dqn": DQN, "ppo": PPO, "sac": SAC, "td3": TD3, "ddpg": DDPG, "tqc": TQC, "recurrent_ppo": RecurrentPPO}
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}

# The state behind an observation, where the two are not the same.
STATES = {
    "CartPole-v1": lambda obs: obs,
    "Pendulum-v1": lambda obs: [np.arctan2(obs[1], obs[0]), obs[2]],
    "Acrobot-v1": lambda obs: [np.arctan2(obs[1], obs[0]), np.arctan2(obs[3], obs[2]), obs[4], obs[5]],
}


class Visible(gymnasium.ObservationWrapper):
    """Shows a part of the observation."""

    def __init__(self, env, places):
        super().__init__(env)
        self.places = places
        space = env.observation_space
        self.observation_space = gymnasium.spaces.Box(space.low[places], space.high[places], dtype=space.dtype)

    def observation(self, observation):
        return observation[self.places]


def keywords(work):
    """What JSON has no words for: schedules, activations, noise."""
    settings = dict(work["settings"])
    for key, value in settings.items():
        if isinstance(value, dict) and "linear" in value:
            settings[key] = linear(*value["linear"])
    policy = dict(settings.pop("policy_kwargs", {}))
    if "activation_fn" in policy:
        policy["activation_fn"] = ACTIVATIONS[policy["activation_fn"]]
    if "action_noise" in settings:
        numbers = gymnasium.make(work["env"]).action_space.shape
        settings["action_noise"] = NormalActionNoise(np.zeros(numbers), np.full(numbers, settings["action_noise"]))
    return {**settings, "policy_kwargs": policy}


def linear(start, end):
    """Theirs is told how much of the run is left."""
    return lambda left: end + left * (start - end)


def shown(work, env):
    return env if work["visible"] is None else Visible(env, work["visible"])


def train(work):
    envs = make_vec_env(work["env"], n_envs=work["envs"], seed=work["seed"], wrapper_class=lambda env: shown(work, env))
    settings = keywords(work)
    if work["normalize"]:
        envs = VecNormalize(envs, gamma=settings["gamma"])
    policy = "MlpLstmPolicy" if work["algo"] == "recurrent_ppo" else "MlpPolicy"
    model = ALGORITHMS[work["algo"]](policy, envs, seed=work["seed"], verbose=0, device="cpu", **settings)
    begun = time.perf_counter()
    model.learn(work["steps"])
    return model, time.perf_counter() - begun


def begin(work, env, episode):
    """The first observation, as it is before any wrapper; with known starts, the very one that the other side begins with."""
    first, _ = env.reset(seed=work["reset_seeds"][episode])
    if work["starts"] is None:
        return first
    start = np.array(work["starts"][episode])
    env.unwrapped.state = np.array(STATES[work["env"]](start), dtype=np.float64)
    return start.astype(np.float32)


def evaluate(work, model):
    """Mean return of the episodes, all of which are played at once; rewards are raw."""
    count = len(work["reset_seeds"])
    envs = [gymnasium.make(work["env"]) for _ in range(count)]
    observations = np.stack([begin(work, env, episode) for episode, env in enumerate(envs)])
    statistics = model.get_vec_normalize_env()
    returns, playing = np.zeros(count), np.ones(count, bool)
    memory, starts = None, np.ones(count, bool)
    while playing.any():
        seen = observations if work["visible"] is None else observations[:, work["visible"]]
        if statistics is not None:
            seen = statistics.normalize_obs(seen)
        actions, memory = model.predict(seen, state=memory, episode_start=starts, deterministic=True)
        starts[:] = False
        for episode in np.flatnonzero(playing):
            observations[episode], reward, terminated, truncated, _ = envs[episode].step(actions[episode])
            returns[episode] += reward
            playing[episode] = not (terminated or truncated)
    return returns.mean()


def main():
    work = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    model, seconds = train(work)
    result = {"mean_reward": float(evaluate(work, model)), "seconds": seconds, "steps": model.num_timesteps}
    print(json.dumps(result))


main()
