"""Dreamer from pixels: learns a model of the world and acts by what it imagines.

    python examples/dreamer_atari_reference.py                        # Catch, a native environment
    python examples/dreamer_atari_reference.py --env ALE/Breakout-v5  # needs the extra `atari`
"""

from reference_run import parser, train
from rl_training import Dreamer

#: The packaged config of each environment; other games go by that of Breakout.
CONFIGS = {
    "Catch-v0": "dreamer/catch",
    "CartPolePixels-v0": "dreamer/cartpole_pixels",
    "PendulumPixels-v0": "dreamer/pendulum_pixels",
    "ALE/Breakout-v5": "dreamer/breakout_atari",
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--env", default="Catch-v0", help="a native environment of pixels, or one of Gymnasium's")
    options = options.parse_args()
    changes = {}
    if options.env not in CONFIGS:
        changes = {"env_id": options.env, "env_kwargs": {"img_height": 64, "img_width": 64}}
    _, best = train(Dreamer, CONFIGS.get(options.env, "dreamer/breakout_atari"), options, **changes)
    print(f"images      {best.observation_space.shape}")


if __name__ == "__main__":
    main()
