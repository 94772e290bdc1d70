"""DRQN on CartPole: a recurrent Q-network, whose memory is carried from step to step.

    python examples/drqn_cartpole_reference.py --total-timesteps 20000 --seed 1
"""

from reference_run import parser, train
from rl_training import DRQN


def main() -> None:
    options = parser(__doc__).parse_args()
    _, best = train(DRQN, "drqn/cartpole", options)
    state = None
    for step in range(3):
        action, state = best.predict([0.0, 0.0, 0.05, 0.0], state)
        print(f"step {step}      action {int(action)}, a memory of {state.shape[1]} numbers")


if __name__ == "__main__":
    main()
