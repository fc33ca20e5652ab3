"""Verdicts within texts, as LLM judges write them: "Rating: [[7]]", "Answer: B"."""

import re
from collections.abc import Sequence

import polars as pl

from raterlens.base.text import Option, shortened
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.role_detection import Look
from raterlens.reading.proposals.score_words import is_score_word

PATTERNS = (
    r"\[\[\s*([^\[\]]+?)\s*\]\]",
    r"(?i)(?:rating|score|grade|verdict|judge?ment|answer|result|punkte|note|urteil)\**\s*[:=]\s*\**\s*\(?([A-Za-z]+|\d+(?:\.\d+)?)",
    r"<(?:score|rating|verdict|answer)>\s*([^<]+?)\s*</",
)
MOSTLY, MOST = 0.8, 30
"""The share of texts that a pattern must fit, and how many different verdicts it may find."""
_NUMBER = re.compile(r"\d+(\.\d+)?")


def verdict_in_text(columns: Sequence[str], look: Look) -> Finding | None:
    """The column and pattern to propose, where texts hold a verdict each."""
    for name in columns:
        if look[name].kind not in ("text", "labels"):
            continue
        texts = look.frame[name].drop_nulls().cast(pl.String)
        for pattern in PATTERNS:
            found = texts.str.extract(pattern, 1).drop_nulls()
            said = found.unique().to_list()
            if len(found) < max(MOSTLY * len(texts), 3) or not 2 <= len(said) <= MOST:
                continue
            if not all(_NUMBER.fullmatch(word) or is_score_word(word) for word in said):
                continue
            shown = shortened(str(texts[0]), 60)
            return Finding(
                f"{shortened(name)} holds texts with a verdict in each, such as {shown}",
                f"{shortened(found[0])} read from it",
                (Option("score", name), Option("pattern", pattern)),
                certain=False,
            )
    return None
