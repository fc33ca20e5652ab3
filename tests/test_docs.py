"""The code in every page runs as it stands, and links lead somewhere."""

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from markdown.extensions.toc import slugify

import raterlens as rl
from raterlens.capability.links import LINKS
from raterlens.models.registry import MODELS
from site_build import kept_outputs
from site_build.blocks import BlockError, blocks, with_outputs
from site_build.kept_outputs import run

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"))
)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


# The pages that newcomers read; the others run every night.
EVERYDAY = re.compile("README|docs/(index|tutorial|howto/|development/)")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if EVERYDAY.match(page) else pytest.mark.nightly)
        for page in PAGES
        if blocks(text_of(page))
    ],
)
def test_the_code_runs(page: str, tmp_path: Path) -> None:
    # What a page registers ends with the page.
    with patch.dict(MODELS), patch.dict(LINKS):
        shown = run(text_of(page), page, tmp_path)
    if page in CHECKS:
        CHECKS[page](shown, tmp_path)


def _pictures_of_every_chart(shown: list[str], folder: Path) -> None:
    """docs/charts.md shows every chart with its command; its pictures are those that its code makes."""
    text, title = text_of("docs/charts.md"), re.compile("<title>(.*?)</title>")
    names = re.findall(r"!\[[^\]]+\]\(charts/(\w+)\.svg\)", text)
    assert sorted(names) == sorted(set(rl.charts.__all__) - {"save", "svg"})
    for name in names:
        kept, made = (ROOT / "docs" / "charts" / f"{name}.svg", folder / f"{name}.svg")
        titles = [title.findall(file.read_text(encoding="utf-8"))[0] for file in (kept, made)]
        assert titles[0] == titles[1]
        assert f"raterlens plot {name} " in text


def _tables_as_facets_prints_them(shown: list[str], folder: Path) -> None:
    assert "Table 7.2.1  Raters, by severity" in shown[0]


def _summary_that_is_printed(shown: list[str], folder: Path) -> None:
    """The numbers in the README are those of the code above them, up to the last digit."""
    (printed,) = re.findall(r"```text\n(.*?)```", text_of("README.md"), re.DOTALL)
    number = re.compile(r"-?\d+\.\d+")
    have = {number.sub("#", line): [float(n) for n in number.findall(line)] for line in shown[0].splitlines()}
    for line in printed.splitlines():
        if line not in ("", "..."):
            found = [float(n) for n in number.findall(line)]
            assert found == pytest.approx(have[number.sub("#", line)], abs=0.011, rel=1e-5), line


CHECKS = {
    "docs/charts.md": _pictures_of_every_chart,
    "docs/facets.md": _tables_as_facets_prints_them,
    "README.md": _summary_that_is_printed,
}
"""Checks of what a page has made, beyond running."""


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as Markdown makes them."""
    titles = re.findall(r"^#+ (.+)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {slugify(title.replace("`", ""), "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in (one or other for one, other in LINK.findall(without_code(text_of(page)))):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / page).parent / path if path else ROOT / page
        assert found.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors(found), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES)
def test_files_commands_and_tests_that_a_page_names_are_there(page: str) -> None:
    text = text_of(page)
    files = re.findall(r"`((?:tests|src|audit|benchmarks|examples|site_build)/[\w./-]+)`", text)
    assert [file for file in files if not (ROOT / file).exists()] == []
    commands = [
        ROOT / name.replace(".", "/") for name in re.findall(r"python -m ((?:benchmarks|audit)[\w.]*)", text)
    ]
    assert [c for c in commands if not (c.with_suffix(".py").exists() or (c / "__main__.py").exists())] == []
    assert set(re.findall(r"`(test_\w+)`", text)) <= TESTS


def test_every_name_on_the_api_page_exists() -> None:
    for name in re.findall(r"^::: ([\w.]+)$", text_of("docs/api.md"), re.MULTILINE):
        pkgutil.resolve_name(name)


def test_the_api_page_has_every_public_name() -> None:
    text = text_of("docs/api.md")
    assert [
        name for name in rl.__all__ if not re.search(rf"^::: .*\b{name}$|`rl\.{name}`", text, re.MULTILINE)
    ] == [
        "capability"  # its functions are there: raterlens.capability.formulas
    ]


def test_a_page_gets_the_output_of_its_code(tmp_path: Path) -> None:
    page = "```python\nx = 3\nx * 2\n```\n\n```console\n$ echo $((1+1)) > f; cat f\n$ false\n$ echo $?\n```\n"
    text = with_outputs(page, run(page, "page", tmp_path))
    assert text.count('title="Output"') == 2
    assert "\n6\n" in text
    assert "\n2\n1\n" in text


@pytest.mark.parametrize(
    "block", ["```python\n1 / 0\n```\n", "```console\n$ raterlens check nowhere.csv\n```\n"]
)
def test_a_block_that_fails_is_named(block: str, tmp_path: Path) -> None:
    with pytest.raises(BlockError, match="page, line 3"):
        run("# Title\n\n" + block, "page", tmp_path)


def test_a_page_runs_again_only_if_its_code_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_outputs, "FOLDER", tmp_path / "kept")
    page = "```console\n$ echo $$ $RANDOM\n```\n"
    first = kept_outputs.kept_or_run(page, "page", tmp_path)
    assert kept_outputs.kept_or_run("Some prose.\n\n" + page, "page", tmp_path) == first
    assert kept_outputs.kept_or_run(page.replace("$$", "$$ $$"), "page", tmp_path) != first
    assert kept_outputs.run(page, "page", tmp_path) != first


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


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # of MkDocs and its plugins
def test_the_site_has_no_broken_link_or_name(tmp_path: Path) -> None:
    """Every page with its anchors, formulas, docstrings and the outputs that the tests above have kept."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path)))
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (tmp_path / name.replace("README", "index")).exists()
    assert "RaterCapability" in (tmp_path / "api.html").read_text()
    assert "Output" in (tmp_path / "tutorial.html").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# Fine\n\n[other](other.md)\n\n```python\n40 + 2\n```\n\n$x^2$ costs nothing.", None),
        ("[gone](gone.md)", "'gone.md'"),
        ("[gone](other.md#gone)", "does not contain an anchor '#gone'"),
        ("```python\nraise ValueError('no')\n```\n", "ValueError: no"),
    ],
)
def test_a_broken_link_or_block_ends_the_build(text: str, complaint: str | None, tmp_path: Path) -> None:
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
