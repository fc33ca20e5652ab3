"""MkDocs calls these while it builds: they run code, draw formulas, and give every page a place in the navigation."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from site_build.blocks import BlockError, with_outputs  # noqa: E402
from site_build.formulas import with_mathml  # noqa: E402
from site_build.kept_outputs import kept_or_run  # noqa: E402

REST = "Reference"
"""Where pages go that the navigation does not name."""


def on_config(config: Any) -> Any:
    named = set(_named(config.nav or []))
    found = sorted(
        path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md")
    )
    others = [page for page in found if page not in named]
    for section in config.nav or []:
        if REST in section:
            section[REST] += others
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            markdown = with_outputs(markdown, kept_or_run(markdown, page.file.src_uri, Path(folder)))
        except BlockError as error:
            raise PluginError(str(error)) from error
    return with_mathml(markdown) if page.meta.get("math") else markdown


def _named(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    values = nav.values() if isinstance(nav, dict) else nav
    return [page for value in values for page in _named(value)]
