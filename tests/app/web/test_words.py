"""Every word of the templates is in the table of words."""

import re

from raterlens.app.web.pages import HERE
from raterlens.app.web.words import TABLE


def test_templates_use_words_that_exist_and_every_word_is_used() -> None:
    sources = [path.read_text() for path in (*(HERE / "templates").iterdir(), *HERE.glob("*.py"))]
    used = {match for source in sources for match in re.findall(r"(?i)\bwords\.(\w+)\.(\w+)", source)}
    used = {(section, word) for section, word in used if word != "format"}
    for section, word in used:
        assert isinstance(TABLE[section][word], str), (section, word)
    used |= {("progress", word) for source in sources for word in re.findall(r"\bwords\.(\w+)\b", source)}
    lists = {"states", "roles", "spread", "methods", "links", "scales", "priors", "options", "result"}
    phases = {("progress", phase) for phase in ("reading", "fitting", "checking", "writing")}
    known = {
        (section, word)
        for section, words in TABLE.items()
        for word, text in words.items()
        if section not in lists and isinstance(text, str)
    }
    assert known - used - phases == set()
