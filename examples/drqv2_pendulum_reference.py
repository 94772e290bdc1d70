"""DrQ-v2 on Pendulum from pixels: shifted images and n-step returns.

    python examples/drqv2_pendulum_reference.py --total-timesteps 20000 --seed 1
"""

from reference_run import parser, train
from rl_training import DrQv2


def main() -> None:
    options = parser(__doc__).parse_args()
    _, best = train(DrQv2, "drqv2/pendulum_pixels", options)
    print(f"images      {best.observation_space.shape}, actions {best.action_space}")


if __name__ == "__main__":
    main()
