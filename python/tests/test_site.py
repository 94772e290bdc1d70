"""The documentation as a site."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import axiomrl


def script(root):
    spec = importlib.util.spec_from_file_location("build_site", Path(root) / "scripts" / "build_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_is_built_with_a_page_for_every_algorithm(root, tmp_path):
    site, source = script(root), tmp_path / "source"
    pages = site.gather(source)
    assert len(pages) == len(axiomrl.list_algorithms())
    ppo = (source / "names" / "ppo.md").read_text()
    assert "`clip_coef` | `0.2`" in ppo and axiomrl.get_algorithm_spec("ppo").page.strip() in ppo
    config = (Path(root) / "mkdocs.yml").read_text()
    config = config.replace("target/site-source", str(source)).replace("target/site", str(tmp_path / "site"))
    (tmp_path / "mkdocs.yml").write_text(config)
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(tmp_path / "mkdocs.yml")]
    built = subprocess.run(words, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "site" / "names" / "rlpd" / "index.html").is_file()
    # Nobody is asked for anything: pages need nothing from elsewhere.
    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)', (tmp_path / "site" / "index.html").read_text())
    assert loaded == []


def test_links_lead_to_pages_of_the_site_or_are_words(root):
    within = script(root).within
    assert within("[a](docs/python.md#x) [b](CONTRIBUTING.md) [c](https://d.e)", "") == "[a](python.md#x) b [c](https://d.e)"
    assert within("[a](../benchmarks/peers.md) [b](files.md) [c](nowhere.md)", "docs") == "[a](benchmarks/peers.md) [b](files.md) c"
