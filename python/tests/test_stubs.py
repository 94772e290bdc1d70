"""What type checkers read is what there is."""

import ast
import os
import subprocess
import sys
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
    both = ["None", "Sequence[int | None]", "set[str | None]"]
    assert _stubs.union(both) == "Sequence[int | None] | set[str | None] | None"


#: What is for the package itself, and the two types that only checkers know.
BESIDE = r"""
axiomrl\._.*
axiomrl\.__all__
axiomrl\.Schedule
axiomrl\.Environment
"""


def test_a_type_checker_finds_what_the_stubs_say(tmp_path):
    (tmp_path / "beside").write_text(BESIDE)
    folder = Path(axiomrl.__file__).parents[1]
    # What is installed is found by itself.
    env = os.environ if folder.name == "site-packages" else {**os.environ, "MYPYPATH": str(folder)}
    words = ["-m", "mypy.stubtest", "axiomrl", "--concise", "--allowlist", "beside", "--ignore-unused-allowlist"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
