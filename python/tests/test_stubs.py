"""What type checkers read is what there is."""

import ast
from pathlib import Path

import axiomrl
from axiomrl import _stubs


def test_the_stubs_are_those_of_the_table():
    written = Path(axiomrl.__file__).with_name("__init__.pyi").read_text()
    assert written == _stubs.text(), "write them again: python -m axiomrl._stubs python/axiomrl/__init__.pyi"


def test_the_stubs_are_python_and_name_all_there_is():
    tree = ast.parse(Path(axiomrl.__file__).with_name("__init__.pyi").read_text())
    named = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    named |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname}
    named |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
    assert set(axiomrl.__all__) - named == set()


def test_words_and_numbers_together_are_one_union():
    assert _stubs.union(["Literal['auto'] | float", "None", "float"]) == "Literal['auto'] | float | None"
    assert _stubs.union(["None", "Sequence[int | None]"]) == "Sequence[int | None] | None"
