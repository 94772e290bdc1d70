"""The package's former name: everything of `axiomrl`."""

from axiomrl import *  # noqa: F403
from axiomrl import __all__, __version__  # noqa: F401
