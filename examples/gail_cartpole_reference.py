"""GAIL on CartPole with a fixed horizon: imitates a scripted expert, without ever seeing a reward.

    python examples/gail_cartpole_reference.py --total-timesteps 20000 --seed 1
"""

from reference_run import parser, train
from rl_training import GAIL


def main() -> None:
    options = parser(__doc__).parse_args()
    _, best = train(GAIL, "gail/cartpole_fixed", options)
    for name, state in (("left", [0.0, 0.0, -0.1, 0.0]), ("right", [0.0, 0.0, 0.1, 0.0])):
        action, _ = best.predict(state)
        print(f"action      {('push left', 'push right')[int(action)]} when the pole leans {name}")


if __name__ == "__main__":
    main()
