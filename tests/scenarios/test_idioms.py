"""Phrases that read as translated, which were in the first release and must not come back."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = [
    path
    for folder in ("src", "docs", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".md", ".html", ".js", ".toml")
] + [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "RELEASING")]

PHRASES = (
    "one row a rating",
    "ratings a rater (median)",
    "one label a rating",
    "one value a rating",
    "capable ones are",
    "gradient vanished",
    "to keep in mind when",
    "take for granted",
    "for all about a rater",
    "that others see as well",
    "from which score on",
    "file that is taken",
    "asked, not certain",
    "answered by one message",
    "to it come",
)


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_page_message_or_comment_has_it(phrase: str):
    assert READ
    found = [path for path in READ if phrase in " ".join(path.read_text(encoding="utf-8").lower().split())]
    assert found == []
