"""Values that are written as Python, such as `dict(net_arch=[64, 64], activation_fn=nn.ReLU)`: read, never run."""

from __future__ import annotations

import ast
from typing import Any

#: Longer ones are no settings.
LONGEST = 10_000


class Name(str):
    """A word that stands for something of Python's, `nn.ReLU`."""

    @property
    def last(self) -> str:
        return self.rpartition(".")[2]


def literal(text: str) -> Any:
    """Numbers, words, lists, dictionaries and names. Nothing is looked up and nothing is called."""
    if len(text) > LONGEST:
        raise ValueError("it is longer than any settings are")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return value(tree.body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is no value of Python's") from error


def value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = value(node.operand)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, (ast.List, ast.Tuple)):
        return [value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, map(value, node.values)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
        if all(keyword.arg is not None for keyword in node.keywords):
            return {keyword.arg: value(keyword.value) for keyword in node.keywords}
    if isinstance(node, (ast.Name, ast.Attribute)):
        return Name(dotted(node))
    raise ValueError(f"{ast.unparse(node)!r} is neither a number, a word, a list, a dictionary nor a name; it is not run")


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    raise ValueError(f"{ast.unparse(node)!r} is no name; it is not run")
