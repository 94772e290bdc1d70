"""The part of YAML that the zoo's files are written in."""

import pytest
from axiomrl import _yaml
from axiomrl._expressions import Name, literal

TEXT = """
# A comment.
default:
  n_timesteps: !!float 1e6   # another
  policy: 'MlpPolicy'
  rate: lin_7.3e-4
  size: 1_000_000
  small: .5
  none: ~
  yes_it_is: True

"Quoted-v0": &shared
  list: [1, 'episode', {a: -2, b: [x]}]
  empty: []
  text: "dict(
           net_arch=[64, 64], # no comment
         )"
  it's: don't
Other-v1:
  <<: *shared
  list: 3
  items:
  - one.Wrapper
  - two.Wrapper:
      skip: 2
      deep:
        - - 1
          - 2
    beside: 1
  - [a, b]
"""


def test_what_the_zoo_is_written_in_is_read():
    read = _yaml.parse(TEXT)
    assert read["default"] == {
        "n_timesteps": 1e6, "policy": "MlpPolicy", "rate": "lin_7.3e-4", "size": 1_000_000, "small": 0.5, "none": None, "yes_it_is": True,
    }  # fmt: skip
    assert isinstance(read["default"]["n_timesteps"], float)
    shared = read["Quoted-v0"]
    assert shared["list"] == [1, "episode", {"a": -2, "b": ["x"]}] and shared["empty"] == [] and shared["it's"] == "don't"
    assert shared["text"].replace(" ", "") == "dict(net_arch=[64,64],#nocomment)"
    other = read["Other-v1"]
    assert other["list"] == 3 and other["text"] == shared["text"]
    assert other["items"] == ["one.Wrapper", {"two.Wrapper": {"skip": 2, "deep": [[1, 2]]}, "beside": 1}, ["a", "b"]]
    assert _yaml.parse("") is None and _yaml.parse("- 1\n- 2") == [1, 2]


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' is given twice"),
        ("a: |\n  text", 1, "not read here"),
        ("a: *b", 1, "no `&` above"),
        ("x: !!python/object/apply:os.system [ls]", 1, "!!python/object/apply:os.system"),
        ("a: !!float x", 1, "'x' is no float"),
        ("a:\n\t- 1", 2, "tab"),
        ("a: 1\n\nb: [1,", 3, "never closed"),
        ("a: 'open", 1, "never closed"),
        ("a: 1\n  b: 2", 2, "indentation"),
        ("a:\n  b: 1\n c: 2", 3, "indentation"),
        ("a: [1, 2}", 1, "`,` or `]` is missing"),
        ("a: {b}", 1, "`key: value` is missing"),
        ("a: 'b' c", 1, "follows a value"),
        ("a: 1\nword", 2, "`key: value` is missing"),
        ("a: 1\n---\nb: 1", 2, "one document"),
        ("a: &x 1\nb:\n  <<: *x", 3, "takes a map"),
        ('a: "\\q"', 1, "not read here"),
    ],
)
def test_the_rest_is_refused_with_its_line(text, line, words):
    with pytest.raises(ValueError, match=f"line {line}: ") as told:
        _yaml.parse(text, "x.yml")
    assert words in str(told.value) and str(told.value).startswith("x.yml")


def test_what_is_nested_too_deep_is_refused():
    with pytest.raises(ValueError, match="deeper"):
        _yaml.parse("a: " + "[" * 5000 + "]" * 5000)


def test_expressions_are_read_and_never_run():
    assert literal("dict(a=[1, -2.5], b={'c': True, 'd': None}, e='x', f=(1,))") == {
        "a": [1, -2.5], "b": {"c": True, "d": None}, "e": "x", "f": [1],
    }  # fmt: skip
    name = literal("dict(activation_fn=nn.ReLU)")["activation_fn"]
    assert isinstance(name, Name) and name == "nn.ReLU" and name.last == "ReLU"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch ran')", "open('ran', 'w')", "[x for x in range(3)]", "dict([('a', 1)])", "dict(**a)", "1 + 1",
        "lambda: 0", "a[0]", "f().b", "dict(a=print('x'))", "b'x'", "1j", "-'a'", "{1: 2}", "a=1", "(", "-" * 100_000,
    ],
)  # fmt: skip
def test_what_would_have_to_be_run_is_refused(text, tmp_path):
    with pytest.raises(ValueError):
        literal(text)
    assert list(tmp_path.iterdir()) == []
