"""Formulas as MathML, which browsers draw themselves: no script, nothing to fetch."""

import re

from latex2mathml.converter import convert

CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
DISPLAYED, INLINE = re.compile(r"\$\$(.+?)\$\$", re.DOTALL), re.compile(r"(?<![\\$\w])\$([^$\n]+?)\$(?!\w)")


def with_mathml(page: str) -> str:
    """Replace $...$ and $$...$$ outside code."""
    parts = CODE.split(page)
    return "".join(part if place % 2 else _converted(part) for place, part in enumerate(parts))


def _converted(text: str) -> str:
    text = DISPLAYED.sub(
        lambda found: f'<div class="formula">{convert(found[1].strip(), display="block")}</div>', text
    )
    # In a span: Markdown would take a line that begins with <math> for a block of its own.
    return INLINE.sub(lambda found: f'<span class="inline-formula">{convert(found[1])}</span>', text)
