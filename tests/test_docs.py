"""The code in every page runs as it stands, and links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from raterlens.models.registry import MODELS
from site_build.blocks import BlockError, blocks, outputs, with_outputs

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"))
)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        # The code of docs/charts.md is run, and its pictures looked at, in tests/charts/test_docs.py.
        if blocks((ROOT / page).read_text(encoding="utf-8")) and page != "docs/charts.md"
    ],
)
def test_the_code_runs(page, tmp_path):
    try:
        found = list(outputs((ROOT / page).read_text(encoding="utf-8"), page, tmp_path))
    finally:
        MODELS.pop("two kinds", None)
    assert found


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(
        r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in (one or other for one, other in LINK.findall(text)):
        if not target.startswith(("http", "#")):
            assert (ROOT / page).parent.joinpath(target.partition("#")[0]).exists(), f"{page}: {target}"


def test_a_page_gets_the_output_of_its_code(tmp_path):
    page = "```python\nx = 3\nx * 2\n```\n\n```console\n$ echo $((1+1)) > f; cat f\n$ false\n$ echo $?\n```\n"
    text = with_outputs(page, "page", tmp_path)
    assert text.count('title="Output"') == 2
    assert "\n6\n" in text
    assert "\n2\n1\n" in text


@pytest.mark.parametrize(
    "block", ["```python\n1 / 0\n```\n", "```console\n$ raterlens check nowhere.csv\n```\n"]
)
def test_a_block_that_fails_is_named(block, tmp_path, capsys):
    with pytest.raises(BlockError, match="page, line 3"):
        with_outputs("# Title\n\n" + block, "page", tmp_path)


SITE = """
site_name: small
strict: true
docs_dir: docs
theme: {name: material, font: false}
hooks: [HOOKS]
plugins: [search]
validation: {links: {not_found: warn, anchors: warn}}
nav: [index.md, Reference: []]
"""


def make_docs(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command of `make docs`, as the Makefile has it, in a folder with a site of its own."""
    (command,) = re.findall(r"\$\(BIN\)/(mkdocs build .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    return subprocess.run(
        [Path(sys.executable).parent / "mkdocs", *command.split()[1:]],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.filterwarnings("ignore")  # of MkDocs and its plugins
def test_the_site_has_no_broken_link_or_name(tmp_path):
    """Every page with its anchors, formulas and docstrings; its blocks have a test of their own."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), extra={"run_blocks": False}))
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (tmp_path / name.replace("README", "index")).exists()
    assert "RaterCapability" in (tmp_path / "api.html").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# Fine\n\n[other](other.md)\n\n```python\n40 + 2\n```\n\n$x^2$ costs nothing.", None),
        ("[gone](gone.md)", "'gone.md'"),
        ("[gone](other.md#gone)", "does not contain an anchor '#gone'"),
        ("```python\nraise ValueError('no')\n```\n", "ValueError: no"),
    ],
)
def test_a_broken_link_or_block_ends_the_build(text, complaint, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("---\nmath: true\n---\n" + text)
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    (tmp_path / "mkdocs.yml").write_text(SITE.replace("HOOKS", str(ROOT / "site_build" / "hooks.py")))
    done = make_docs(tmp_path)
    if complaint:
        assert done.returncode == 1
        assert complaint in done.stderr
        return
    assert done.returncode == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert "42" in page
    assert "<math" in page
    # Nothing is fetched from elsewhere when the page opens.
    assert not re.findall(
        r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page.replace('rel="canonical"', "")
    )
