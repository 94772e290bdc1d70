"""Builds the documentation as a site, with a page for every algorithm from the registry:

    pip install . "mkdocs<2"
    python scripts/build_site.py        # the site is in target/site

Sources are gathered in `target/site-source`; `mkdocs.yml` says the rest.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import axiomrl
from axiomrl import _registry

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "target" / "site-source"
#: What pages of the repository may refer to within the site.
COPIED = ("docs", "benchmarks")


def gather(source: Path = SOURCE) -> list[Path]:
    """Writes everything that the site is made of, and gives the pages of algorithms."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for path in sorted((ROOT / "docs").glob("*.md")):
        (source / path.name).write_text(within(path.read_text(), "docs"))
    (source / "benchmarks").mkdir()
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        (source / "benchmarks" / path.name).write_text(within(path.read_text(), "benchmarks"))
    (source / "index.md").write_text(within((ROOT / "README.md").read_text(), ""))
    (source / "names").mkdir()
    pages = []
    for spec in axiomrl.list_algorithm_specs():
        pages.append(source / "names" / f"{spec.name}.md")
        pages[-1].write_text(page(spec))
    rows = [f"| [`{spec.name}`]({spec.name}.md) | `{spec.class_name}` | {spec.summary} |" for spec in axiomrl.list_algorithm_specs()]
    table = ["# Algorithms by name", "", "| name | class | |", "|---|---|---|", *rows]
    (source / "names" / "index.md").write_text("\n".join(table) + "\n")
    return pages


def within(text: str, folder: str) -> str:
    """Text of the repository with its links as the site has them; what the site lacks stays as words."""

    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if re.match(r"\w+:|#", target):
            return found[0]
        path, _, place = target.partition("#")
        full = (ROOT / folder / path).resolve()
        if full.suffix != ".md" or full.parent.name not in COPIED or full.parent.parent != ROOT or not full.is_file():
            return words
        inside = full.name if full.parent.name == "docs" else f"benchmarks/{full.name}"
        up = "../" if folder == "benchmarks" else ""
        return f"[{words}]({up}{inside}{'#' + place if place else ''})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def page(spec: Any) -> str:
    """What an algorithm does, and its settings."""
    root = _registry.schema(spec.name)
    own = root["$defs"][root["properties"]["algo_kwargs"]["$ref"].removeprefix("#/$defs/")]["properties"]
    rows = [f"| `{name}` | `{default}` | {meaning(own[name])} |" for name, default in spec.defaults.items()]
    # Rust's blocks of text are Markdown's, but for the word for plain text.
    text = spec.page.strip()
    text = text if text.startswith("#") else f"# {spec.class_name}: {spec.summary}\n\n{text}"
    return "\n".join([text, "", "## Settings", "", f"`axiomrl.{spec.class_name}`, `algo: {spec.name}`.", "",
                      "| setting | default | |", "|---|---|---|", *rows, ""])  # fmt: skip


def meaning(part: dict[str, Any]) -> str:
    return " ".join(part.get("description", "").split()).replace("|", "\\|")


def main() -> int:
    pages = gather()
    print(f"{len(pages)} pages of algorithms in {SOURCE}")
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / "mkdocs.yml")]).returncode


if __name__ == "__main__":
    sys.exit(main())
