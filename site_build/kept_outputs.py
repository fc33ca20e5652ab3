"""Outputs of blocks, kept by content: a page runs again only if its code, the package or the examples have changed.

The tests run every page and keep what it shows; the site, built by the tests and by `make docs`, takes it from here.
"""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from site_build.blocks import blocks, outputs

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".docs_cache"


def run(page: str, name: str, folder: Path) -> list[str]:
    """Run the blocks of a page in `folder`; keep and return what each shows."""
    shown = [text for _, text in outputs(page, name, folder)]
    file = _file(page)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(shown), encoding="utf-8")
    return shown


def kept_or_run(page: str, name: str, folder: Path) -> list[str]:
    """Output of each block of a page, run only if something has changed."""
    file = _file(page)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else run(page, name, folder)


def _file(page: str) -> Path:
    code = json.dumps([(block.kind, block.code) for block in blocks(page)])
    return FOLDER / f"{sha256((code + _sources()).encode()).hexdigest()[:24]}.json"


@cache
def _sources() -> str:
    """A fingerprint of all that blocks call."""
    found = sha256()
    for folder in ("src", "examples", "site_build"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(path.read_bytes())
    return found.hexdigest()
