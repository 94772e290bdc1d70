"""Dreamer from pixels: learns a model of the world and acts by what it imagines.

    python examples/dreamer_atari_reference.py                        # Catch, a native environment
    python examples/dreamer_atari_reference.py --env ALE/Breakout-v5  # needs the extra `atari`
"""

from reference_run import parser, train
from rl_training import Dreamer

#: The packaged config of each native environment; others begin with that of CartPole's pixels.
CONFIGS = {
    "Catch-v0": "dreamer/catch",
    "CartPolePixels-v0": "dreamer/cartpole_pixels",
    "PendulumPixels-v0": "dreamer/pendulum_pixels",
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--env", default="Catch-v0", help="a native environment of pixels, or one of Gymnasium's")
    options = options.parse_args()
    changes = {}
    if options.env not in CONFIGS:
        wrappers = [{"AtariPreprocessing": {"frame_skip": 4, "screen_size": 64, "grayscale_newaxis": True}}]
        changes = {"env_id": options.env, "env_kwargs": {"frameskip": 1, "wrappers": wrappers}}
    _, best = train(Dreamer, CONFIGS.get(options.env, "dreamer/catch"), options, **changes)
    print(f"images      {best.observation_space.shape}")


if __name__ == "__main__":
    main()
