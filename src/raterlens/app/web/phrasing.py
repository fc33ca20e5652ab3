"""Messages of the package in the words of the pages: they name fields and choices there, not arguments of Python."""

import re
from functools import partial

from raterlens.app.web.phrases import TABLE

_NAME = "'[^']*'"
_VALUE = r"([\d.]+)"

_PHRASES = [
    # The pass mark.
    (rf"give a cut: cut={_VALUE}", r"give a pass mark: \1"),
    (rf"say from which score on is a pass, for example cut={_VALUE}", r"give a pass mark, for example \1"),
    (rf"(>=|<) cut={_VALUE}", r"\1 the pass mark \2"),
    (r"check the score column and the cut", "check the score column and the pass mark"),
    (r"check the score column, or give a cut", "check the score column, or give a pass mark"),
    # What a page does not ask for is to be mended in the file.
    (rf", or give (its encoding|encoding={_NAME})( \([^)]*\))?", ""),
    (rf", or (give format={_NAME}|say what it is with format=)", ""),
    (rf"say which, for example table=({_NAME})", r"send a file with one of them only, for example \1"),
    # Columns are chosen.
    (
        r"(?:name|choose) another with (student|rater|item|score|facet)=",
        r"choose another column as {roles.\1}",
    ),
    (rf"wide=({_NAME})", r"the pattern \1"),
    # Choices are called what the page calls them.
    (r"\bshrink=True\b", "“{models.shrink}”"),
    (r"takes no shrink\b", "takes no “{models.shrink}”"),
    (r"(takes no .*?)\bitem_slopes\b", r"\1“{models.item_slopes}”"),
    (r"\b(method|link|scale) '([^']*)'", r"\1 “{\1s.\2}”"),
    (r"\bmodel '([^']*)'", r"model “{models.\1.name}”"),
]
_WORD = re.compile(r"“?\{(\w+)\.([\w -]+)(?:\.(\w+))?\}”?")


def for_visitors(message: str) -> str:
    """A message that names arguments of Python, as the pages would say it: cut=3 is the pass mark 3."""
    for pattern, words in _PHRASES:
        message = re.sub(pattern, partial(_said, words), message)
    return message


def _said(words: str, found: re.Match[str]) -> str:
    """What stands there instead; where the pages have no word for a choice, the message stays as it is."""
    text = found.expand(words)
    for word in _WORD.finditer(text):
        known = TABLE
        for key in filter(None, word.groups()):
            if key not in known:
                return found[0]
            known = known[key]
        # Without what follows in brackets: it explains the choice.
        text = text.replace(word[0].strip("“”"), str(known).partition(" (")[0])
    return text
