"""RLPD on Pendulum: every batch is half recorded data, half its own.

    python examples/rlpd_pendulum_reference.py --total-timesteps 20000 --seed 1
"""

from reference_run import parser, train
from rl_training import RLPD


def main() -> None:
    options = parser(__doc__).parse_args()
    # Four thousand transitions of a scripted expert; `axiomrl dataset make pendulum/medium-v0` makes the record of the config.
    _, best = train(RLPD, "rlpd/pendulum", options, dataset={"dataset_kind": "scripted", "dataset_size": 4000})
    for name, state in (("upright", [1.0, 0.0, 0.0]), ("sideways", [0.0, 1.0, 0.0]), ("hanging", [-1.0, 0.0, 0.0])):
        action, _ = best.predict(state)
        print(f"torque      {action[0]:+.2f} when {name}")


if __name__ == "__main__":
    main()
