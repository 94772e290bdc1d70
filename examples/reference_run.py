"""What the reference scripts share: their options, and a run from a packaged config to a measured policy."""

import argparse
from pathlib import Path

import axiomrl


def parser(description: str) -> argparse.ArgumentParser:
    """The options of every script."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--total-timesteps", type=int, help="environment steps; those of the packaged config if absent")
    parser.add_argument("--output-dir", type=Path, default=Path("runs"), help="where the run folder is made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--eval-episodes", type=int, default=20, help="episodes of each evaluation")
    return parser


def train(kind: type[axiomrl.ManagedAlgorithm], config: str, options: argparse.Namespace, **changes: object):
    """Trains what a packaged config says, measures the best policy and gives both."""
    changes |= {"seed": options.seed, "output_dir": options.output_dir, "eval_episodes": options.eval_episodes}
    if options.total_timesteps is not None:
        changes["total_timesteps"] = options.total_timesteps
    agent = kind(axiomrl.TrainConfig.from_file(config, **changes)).learn(progress_bar=True)
    print(f"run folder  {agent.run_dir}")
    print(f"trained     {agent.result['steps']} steps, {agent.result['updates']} updates")
    best = axiomrl.load_policy(agent.run_dir / "checkpoints" / "best")
    result = best.evaluate(options.eval_episodes)
    print(f"best policy {result['mean_reward']:.1f} ± {result['std_reward']:.1f} over {options.eval_episodes} episodes")
    return agent, best
