"""`axiomrl` and `python -m axiomrl`: the command line."""

import signal
import sys

from . import _native


def main() -> int:
    # Ctrl-C is for the engine, which saves the run.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["axiomrl", *sys.argv[1:]], [sys.executable, "-m", "axiomrl"])


if __name__ == "__main__":
    sys.exit(main())
