"""The part of YAML that files of hyper-parameters are written in, without a package for the whole of it.

Maps and lists by indentation, `[...]` and `{...}`, words, numbers, quoted text over several lines, comments, `&name`, `*name`, `<<`
and the tags `!!float`, `!!int`, `!!str` and `!!bool`. Anything else is refused with its line.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/", " ": " "}
WORDS = {
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
NUMBER = re.compile(r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")
NAME = re.compile(r"[^\s,\[\]{}]+")


class Line(NamedTuple):
    """A line, or several that quotes or brackets make one of."""

    number: int
    indent: int
    text: str


class Unread(ValueError):
    """Text that is not understood, and where."""


def parse(text: str, source: str = "the text") -> Any:
    """What the text says."""
    try:
        return Reader(text, source).document()
    except RecursionError:
        raise Unread(f"{source} is nested deeper than any file of settings") from None


class Reader:
    def __init__(self, text: str, source: str):
        self.source = source
        self.lines = list(self.joined(text.splitlines()))
        self.at = 0
        self.anchors: dict[str, Any] = {}

    def fail(self, number: int, problem: str) -> Unread:
        return Unread(f"{self.source}, line {number}: {problem}")

    def joined(self, raw: list[str]):
        """Lines without comments and blanks."""
        at = 0
        while at < len(raw):
            first, line = at + 1, raw[at]
            at += 1
            if line.strip() == "---" and not first > 1:
                continue
            if line.startswith(("---", "...", "%")):
                raise self.fail(first, "one document is read, and no directives; remove this line")
            body = line.lstrip(" ")
            if body.startswith("\t"):
                raise self.fail(first, "a tab where the line begins; use spaces")
            text, whole = self.scanned(body, first)
            while not whole:
                if at == len(raw):
                    raise self.fail(first, "a quote or bracket is opened here and never closed")
                body = f"{text} {raw[at].strip()}" if text.strip() else raw[at].strip()
                at += 1
                text, whole = self.scanned(body, first)
            if text.strip():
                yield Line(first, len(line) - len(line.lstrip(" ")), text.strip())

    def scanned(self, text: str, number: int) -> tuple[str, bool]:
        """The text without a comment, and whether all its quotes and brackets are closed."""
        quote, depth, at, begins = "", 0, 0, True
        while at < len(text):
            letter = text[at]
            if quote:
                if letter == "\\" and quote == '"':
                    at += 1
                elif letter == quote:
                    quote = ""
            elif letter in "\"'" and begins:
                quote = letter
            elif letter == "#" and (at == 0 or text[at - 1].isspace()):
                return text[:at], depth == 0
            elif letter in "[{" and (begins or depth):
                depth += 1
            elif letter in "]}" and depth:
                depth -= 1
            # Quotes and brackets mean something where a value begins; within a word they are letters of it.
            begins = letter.isspace() or letter in "[{," if not quote else False
            at += 1
        return text, not quote and depth == 0

    def document(self) -> Any:
        if not self.lines:
            return None
        value = self.block(self.lines[0].indent)
        if self.at < len(self.lines):
            raise self.fail(self.lines[self.at].number, "its indentation fits nothing above it")
        return value

    def block(self, indent: int) -> Any:
        text = self.lines[self.at].text
        if text == "-" or text.startswith("- "):
            return self.sequence(indent)
        if key_of(text) is not None:
            return self.mapping(indent)
        line = self.lines[self.at]
        self.at += 1
        return self.value(line.text, line.number)

    def mapping(self, indent: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while self.at < len(self.lines) and self.lines[self.at].indent == indent:
            line = self.lines[self.at]
            found = key_of(line.text)
            if found is None or line.text.startswith("- "):
                raise self.fail(line.number, "`key: value` is missing here")
            key, rest = found
            if key == "?" or line.text.startswith("? "):
                raise self.fail(line.number, "keys are words")
            self.at += 1
            value = self.after(rest, line)
            if key == "<<":
                for other in value if isinstance(value, list) else [value]:
                    if not isinstance(other, dict):
                        raise self.fail(line.number, "`<<` takes a map that `*name` refers to")
                    merged = {**other, **merged}
            elif key in own:
                raise self.fail(line.number, f"the key {key!r} is given twice; keep one")
            else:
                own[key] = value
        self.refuse_deeper(indent)
        return {**merged, **own}

    def sequence(self, indent: int) -> list[Any]:
        items = []
        while self.at < len(self.lines) and self.lines[self.at].indent == indent:
            line = self.lines[self.at]
            if not (line.text == "-" or line.text.startswith("- ")):
                break
            rest = line.text[1:].lstrip()
            if rest and (key_of(rest) is not None or rest.startswith("- ")):
                # What follows the dash is a map or a list of its own, as far in as it stands.
                inner = indent + len(line.text) - len(rest)
                self.lines[self.at] = Line(line.number, inner, rest)
                items.append(self.block(inner))
            else:
                self.at += 1
                items.append(self.after(rest, line))
        self.refuse_deeper(indent)
        return items

    def refuse_deeper(self, indent: int) -> None:
        if self.at < len(self.lines) and self.lines[self.at].indent > indent:
            raise self.fail(self.lines[self.at].number, "its indentation fits nothing above it")

    def after(self, rest: str, line: Line) -> Any:
        """The value behind a key or a dash: on the line, or below it."""
        anchor = None
        if rest.startswith("&"):
            anchor, _, rest = rest[1:].partition(" ")
            rest = rest.strip()
        if rest:
            value = self.value(rest, line.number)
        elif self.at < len(self.lines) and self.below(line):
            value = self.block(self.lines[self.at].indent)
        else:
            value = None
        if anchor is not None:
            self.anchors[anchor] = value
        return value

    def below(self, line: Line) -> bool:
        """Whether the next line is part of this one's value; a list may stand as far out as its key."""
        following = self.lines[self.at]
        is_list = following.text == "-" or following.text.startswith("- ")
        return following.indent > line.indent or (following.indent == line.indent and is_list and not line.text.startswith("-"))

    def value(self, text: str, number: int) -> Any:
        value, rest = self.flow(text, number, inside=False)
        if rest.strip():
            raise self.fail(number, f"{rest.strip()!r} follows a value that is complete")
        return value

    def flow(self, text: str, number: int, inside: bool) -> tuple[Any, str]:
        """A value at the beginning of the text, and what follows it."""
        text = text.lstrip()
        if text.startswith("["):
            return self.flow_list(text[1:], number)
        if text.startswith("{"):
            return self.flow_map(text[1:], number)
        if text[:1] in ("'", '"'):
            return self.quoted(text, number)
        if text.startswith("*"):
            name = NAME.match(text[1:])
            if name is None or name.group() not in self.anchors:
                raise self.fail(number, "`*` refers to a name that no `&` above has given")
            return self.anchors[name.group()], text[1 + name.end() :]
        if text.startswith("!"):
            tag, _, rest = text.partition(" ")
            return self.tagged(tag, *self.flow(rest, number, inside), number)
        if text[:1] in ("|", ">", "@", "`", "%", "&"):
            raise self.fail(number, f"{text[:1]!r} begins something that is not read here; write the value on one line, in quotes")
        plain = re.split(r"[,\[\]{}]", text, maxsplit=1)[0] if inside else text
        return resolved(plain.strip()), text[len(plain) :]

    def flow_list(self, text: str, number: int) -> tuple[list[Any], str]:
        items: list[Any] = []
        while True:
            text = text.lstrip()
            if text.startswith("]"):
                return items, text[1:]
            value, text = self.flow(text, number, inside=True)
            items.append(value)
            text = self.past_comma(text, "]", number)

    def flow_map(self, text: str, number: int) -> tuple[dict[str, Any], str]:
        found: dict[str, Any] = {}
        while True:
            text = text.lstrip()
            if text.startswith("}"):
                return found, text[1:]
            key, colon, rest = text.partition(":")
            if not colon:
                raise self.fail(number, "`key: value` is missing between { and }")
            found[key.strip().strip("'\"")], text = self.flow(rest, number, inside=True)
            text = self.past_comma(text, "}", number)

    def past_comma(self, text: str, end: str, number: int) -> str:
        text = text.lstrip()
        if text.startswith(","):
            return text[1:]
        if not text.startswith(end):
            raise self.fail(number, f"`,` or `{end}` is missing before {text[:20]!r}")
        return text

    def quoted(self, text: str, number: int) -> tuple[str, str]:
        quote, at = text[0], 1
        letters: list[str] = []
        while at < len(text):
            letter = text[at]
            if letter == quote == "'" and text[at + 1 : at + 2] == "'":
                at += 1
            elif letter == quote:
                return "".join(letters), text[at + 1 :]
            elif letter == "\\" and quote == '"':
                at += 1
                if text[at] not in ESCAPES:
                    raise self.fail(number, f"`\\{text[at]}` is not read here")
                letter = ESCAPES[text[at]]
            letters.append(letter)
            at += 1
        raise self.fail(number, "a quote is opened here and never closed")

    def tagged(self, tag: str, value: Any, rest: str, number: int) -> tuple[Any, str]:
        kinds = {"!!float": float, "!!int": int, "!!str": str, "!!bool": bool}
        if tag not in kinds:
            raise self.fail(number, f"the tag {tag!r} is not read here; nothing but plain values is")
        try:
            return kinds[tag](value), rest
        except (TypeError, ValueError):
            raise self.fail(number, f"{value!r} is no {tag[2:]}") from None


def key_of(text: str) -> tuple[str, str] | None:
    """The key that a line begins with, and what follows its colon."""
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        key, rest = text[1:end], text[end + 1 :].lstrip()
        return (key, rest[1:].strip()) if end > 0 and (rest == ":" or rest.startswith(": ")) else None
    if text[:1] in ("[", "{"):
        return None
    key, colon, rest = text.partition(": ")
    if colon:
        return key.strip(), rest.strip()
    return (text[:-1].strip(), "") if text.endswith(":") else None


def resolved(word: str) -> Any:
    """A word without quotes: a number, yes or no, nothing, or itself."""
    if word in WORDS:
        return WORDS[word]
    if WHOLE.fullmatch(word):
        return int(word.replace("_", ""))
    if NUMBER.fullmatch(word):
        return float(word.replace("_", ""))
    return word
