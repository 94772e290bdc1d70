"""What type checkers read is what there is."""

from pathlib import Path

import axiomrl
from axiomrl import _stubs


def test_the_stubs_are_those_of_the_table():
    written = Path(axiomrl.__file__).with_name("__init__.pyi").read_text()
    assert written == _stubs.text(), "write them again: python -m axiomrl._stubs python/axiomrl/__init__.pyi"
