"""From a first agent to one's own environment and data, in a minute: run it, or read it from top to bottom.

    python examples/tutorial.py --output-dir runs
"""

import argparse
from pathlib import Path

import axiomrl
import gymnasium
import numpy as np


def train_and_measure(folder: Path) -> axiomrl.PPO:
    """An agent is an algorithm, an environment and settings; `help(axiomrl.PPO)` shows all of them."""
    agent = axiomrl.PPO("CartPole-v1", num_envs=8, num_steps=64, minibatch_size=128, learning_rate=1e-3, seed=1, output_dir=folder)
    before = agent.evaluate(10)["mean_reward"]
    agent.learn(10_000)
    after = agent.evaluate(10)["mean_reward"]
    print(f"train       {before:.0f} before, {after:.0f} after {agent.num_timesteps} steps, in {agent.run_dir}")
    return agent


class StopWhenGood(axiomrl.Callback):
    """Told of every evaluation; False ends the run, which can be resumed."""

    def __init__(self, enough: float):
        self.enough, self.seen = enough, []

    def on_evaluation(self, agent, result):
        self.seen.append(result["mean_reward"])
        return result["mean_reward"] < self.enough


def watch(folder: Path) -> None:
    callback = StopWhenGood(enough=200.0)
    settings = {"num_envs": 8, "num_steps": 64, "learning_rate": 1e-3, "eval_interval": 2_000, "eval_episodes": 5}
    agent = axiomrl.PPO("CartPole-v1", output_dir=folder, **settings)
    agent.learn(40_000, callback=callback)
    last, reason = callback.seen[-1], agent.result["reason"]
    print(f"callback    {len(callback.seen)} evaluations, the last {last:.0f}: {reason} at {agent.num_timesteps} steps")


def save_load_predict(agent: axiomrl.PPO, folder: Path) -> None:
    """What is saved is a run folder: it acts, is measured, and goes on learning."""
    loaded = axiomrl.load(agent.save(folder / "saved"))
    observation = [0.0, 0.0, 0.1, 0.0]
    action, _ = loaded.predict(observation)
    assert action == agent.predict(observation)[0]
    print(f"load        {type(loaded).__name__} after {loaded.num_timesteps} steps pushes {('left', 'right')[int(action)]}")
    loaded.learn(1_000)
    print(f"go on       {loaded.num_timesteps} steps")
    # A policy alone acts without an environment, for many observations at once.
    policy = axiomrl.load_policy(agent.run_dir)
    actions, _ = policy.predict(np.zeros((5, 4)))
    print(f"policy      {actions.shape[0]} actions for as many observations")


def resume(folder: Path) -> None:
    """A run that was stopped ends as one that never was, to the bit."""
    settings = {"algo_kwargs": {"num_steps": 64, "minibatch_size": 64}, "num_envs": 4, "eval_interval": 0, "output_dir": folder}
    config = axiomrl.TrainConfig("ppo", "CartPole-v1", total_timesteps=4_000, **settings)
    stopped = axiomrl.PPO(config).learn(callback=lambda agent: agent.num_timesteps < 1_500)
    at = stopped.num_timesteps
    stopped.close()
    resumed, whole = axiomrl.PPO.resume(stopped.run_dir), axiomrl.PPO(config).learn()
    ours, theirs = resumed.get_parameters(), whole.get_parameters()
    same = all(np.array_equal(ours[name], theirs[name]) for name in ours)
    print(f"resume      stopped at {at}, ended at {resumed.num_timesteps}, the same as without a stop: {same}")


class Thermostat(gymnasium.Env):
    """A room to be kept at 20 degrees: heat (1) or not (0)."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.degrees, self.steps = self.np_random.uniform(15.0, 25.0), 0
        return self.seen(), {}

    def step(self, action):
        self.degrees += 0.8 if action == 1 else -0.8
        self.steps += 1
        return self.seen(), -abs(self.degrees - 20.0), False, self.steps >= 40, {}

    def seen(self):
        return np.array([np.clip((self.degrees - 20.0) / 10.0, -1.0, 1.0)], np.float32)


def own_environment(folder: Path) -> None:
    """Any environment of Gymnasium: a class, an id, an object or a batch."""
    agent = axiomrl.PPO(Thermostat, num_envs=8, num_steps=40, minibatch_size=80, learning_rate=3e-3, eval_interval=0, output_dir=folder)
    agent.learn(8_000)
    choices = {degrees: int(agent.predict([(degrees - 20) / 10])[0]) for degrees in (16, 24)}
    print(f"own         {agent.evaluate(5)['mean_reward']:.0f} a day; heats at 16 degrees: {choices[16]}, at 24: {choices[24]}")


def record(agent: axiomrl.PPO, steps: int) -> axiomrl.Dataset:
    """What an agent does, as arrays."""
    env = axiomrl.gym.make("CartPole-v1")
    rows = []
    seen, _ = env.reset(seed=3)
    for _ in range(steps):
        action, _ = agent.predict(seen)
        after, reward, terminated, truncated, _ = env.step(int(action))
        rows.append((seen, int(action), reward, terminated, truncated, after))
        seen = env.reset()[0] if terminated or truncated else after
    return axiomrl.Dataset.from_numpy(*(np.array(column) for column in zip(*rows)))


def learn_from_data(agent: axiomrl.PPO, folder: Path) -> None:
    """Cloning what was recorded: no step is taken."""
    data = record(agent, 2_000)
    print(f"data        {data}")
    clone = axiomrl.BC("CartPole-v1", dataset=data, learning_rate=3e-3, hidden_sizes=[32], eval_interval=0, output_dir=folder).learn(800)
    agreed = np.mean(clone.predict(data.observations)[0] == data.actions)
    print(f"clone       agrees in {100 * agreed:.0f} % of the steps, {clone.evaluate(10)['mean_reward']:.0f} in the environment")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output-dir", type=Path, default=Path("runs"), help="where run folders are made")
    folder = parser.parse_args().output_dir
    agent = train_and_measure(folder)
    watch(folder)
    save_load_predict(agent, folder)
    resume(folder)
    own_environment(folder)
    learn_from_data(agent, folder)


if __name__ == "__main__":
    main()
