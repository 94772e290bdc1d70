"""MBPO on Pendulum: a learned model makes most of the data.

    python examples/mbpo_pendulum_reference.py --total-timesteps 20000 --seed 1
"""

from reference_run import parser, train
from rl_training import MBPO


def main() -> None:
    options = parser(__doc__).parse_args()
    _, best = train(MBPO, "mbpo/pendulum", options)
    for name, state in (("upright", [1.0, 0.0, 0.0]), ("sideways", [0.0, 1.0, 0.0]), ("hanging", [-1.0, 0.0, 0.0])):
        action, _ = best.predict(state)
        print(f"torque      {action[0]:+.2f} when {name}")


if __name__ == "__main__":
    main()
