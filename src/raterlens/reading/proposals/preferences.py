"""Files of pairwise preferences, which say which of two pieces of work is better: recognised, and refused."""

import re
from collections.abc import Sequence

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import listed
from raterlens.reading.proposals.role_detection import Look
from raterlens.reading.proposals.role_words import plain, words

_SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("0", "1"), ("x", "y"))
_COMPARED = frozenset(
    words(
        "model, response, answer, assistant, completion, output, text, item, option, candidate, script, essay, "
        "player, system, conversation, sample, summary, translation, document, doc, image, entry, piece, work, "
        "story, story text, antwort, modell, reponse, respuesta, risposta, resposta, antwoord"
    )
)
_WINNER = frozenset(
    words(
        "winner, preference, preferred, prefers, choice, choose, chosen, vote, better, best, selected, pick, "
        "picked, winning, human_preference, overall_preference, gewinner, gagnant, preferencia, preferenza, "
        "ganador, vincitore, vencedor, winnaar, voorkeur, sieger, bevorzugt, comparison, pairwise, verdict, "
        "judgment, judgement, label, result"
    )
)


def refuse_preferences(columns: Sequence[str], look: Look) -> None:
    """Raise where columns hold two pieces of work and which of them won."""
    names = {plain(name): name for name in columns}
    if {"chosen", "rejected"} <= names.keys():
        raise _preferences([names["chosen"], names["rejected"]])
    for one, other in _SIDES:
        for short, name in names.items():
            stem = re.sub(rf"(^|_){one}($|_)", "", short, count=1)
            partner = next(
                (
                    names[full]
                    for full in names
                    if full != short and re.fullmatch(re.escape(short[: -len(one)]) + other, full)
                ),
                None,
            )
            if partner is None or not short.endswith(one) or (stem and stem not in _COMPARED):
                continue
            if (winner := _winner([name, partner], names, look)) is not None:
                raise _preferences([name, partner, winner])


def _winner(pair: Sequence[str], names: dict[str, str], look: Look) -> str | None:
    """The column that says which of the two is better."""
    for short, name in names.items():
        if name in pair or not ({short, *short.split("_")} & _WINNER):
            continue
        said = set(look.frame[name].drop_nulls().cast(pl.String).unique())
        sides = {value for one in pair for value in look.frame[one].drop_nulls().cast(pl.String).unique()}
        certain = bool({short, *short.split("_")} & _CERTAIN) and len(said) <= max(5, len(sides) + 2)
        if said and (said <= sides or {value.casefold() for value in said} <= _VERDICTS or certain):
            return name
    return None


_CERTAIN = frozenset(
    words("winner, preference, preferred, gewinner, gagnant, ganador, vincitore, vencedor, winnaar")
)
_VERDICTS = frozenset(
    words(
        "a, b, tie, model_a, model_b, left, right, first, second, both, neither, draw, equal, same, a>b, b>a, a=b"
    )
)


def _preferences(columns: Sequence[str]) -> InputError:
    return InputError(
        f"the columns {listed(columns)} hold pairwise preferences (which of two pieces of work is better)",
        "Raterlens reads scores of single pieces of work: have each of them scored by itself",
        value=list(columns),
    )
