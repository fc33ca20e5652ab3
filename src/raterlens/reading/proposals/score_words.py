"""Words and signs that are scores, in the languages of the column names: verdicts, grades and ordered answers."""

import re
from collections.abc import Collection, Mapping
from functools import cache

from raterlens.reading.proposals.role_words import words

_BLANKS = frozenset(("", "na", "nan", "null", "none", ".", "-", "–", "—", "?", "#n/a", "nd", "<na>"))
_ABSENT = frozenset(
    words(
        "n/a, n.a., k.a., k. a., n. b., n.b., n/b, abs, absent, absence, dns, did not sit, dnf, did not finish, "
        "dna, no show, no-show, noshow, withdrawn, wd, w/d, withdrew, exempt, exempted, excused, not applicable, "
        "not available, not assessed, not marked, not rated, not scored, not graded, no mark, no marks, no "
        "score, no rating, no grade, no answer, no response, no submission, not submitted, missing, unmarked, "
        "ungraded, unrated, illegible, void, voided, skip, skipped, ignore, ignored, pending, tbd, tba, unknown, "
        "undefined, parse_error, parse error, parseerror, parsing error, parse failure, invalid json, "
        "unparsable, unparseable, error, err, exception, failed to parse, timeout, timed out, refused, refusal, "
        "rate limit, rate_limit, cannot judge, can't judge, unable to judge, don't know, dont know, #value!, "
        "#ref!, #div/0!, #null!, #num!, abwesend, gefehlt, fehlt, krank, entschuldigt, unentschuldigt, befreit, "
        "zurückgetreten, nicht erschienen, nicht bewertet, nicht teilgenommen, nicht abgegeben, keine angabe, "
        "keine antwort, weiß nicht, entfällt, absente, abs., dispensé, dispensée, excusé, excusée, non noté, non "
        "rendu, abandon, nsp, pas de réponse, ausente, no presentado, np, n.p., exento, exenta, retirado, "
        "retirada, sin respuesta, no contesta, ns/nc, no entregado, assente, esonerato, esonerata, ritirato, "
        "ritirata, non valutato, non pervenuto, isento, isenta, dispensado, faltou, falta, não compareceu, sem "
        "resposta, não avaliado, desistente, afwezig, vrijgesteld, teruggetrokken, niet beoordeeld, geen "
        "antwoord, n.v.t., nvt, 缺考, 缺席, 未评分, 欠席, 未採点, 결석"
    )
)
_FAULT = re.compile(r"\W*(\w+[ _-]?){0,2}(error|exception)\b.*", re.IGNORECASE | re.DOTALL)
MISSING = _BLANKS | _ABSENT


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing score: blank, absent, withdrawn, or an error of a program.

    Examples
    --------
    >>> [is_missing(text) for text in ("", "ABS", "PARSE_ERROR", "Error: timeout", "entschuldigt", "fail", "weak")]
    [True, True, True, True, True, False, False]
    """
    folded = text.strip().casefold()
    return folded in MISSING or (len(folded) < 200 and _FAULT.fullmatch(folded) is not None)


def says_missing(text: str) -> bool:
    """Whether it does so in words, which is worth a note."""
    return is_missing(text) and text.strip().casefold() not in _BLANKS


_PASS = words(
    "true, pass, passed, yes, correct, good, accept, accepted, approve, approved, right, ok, positive, thumbs "
    "up, thumbs_up, up, like, safe, acceptable, y, t, +, satisfactory, 👍, ✓, ✔, ✔️, ☑, ✅, 👍🏻, 👍🏼, 👍🏽, "
    "👍🏾, 👍🏿, 🙂, valid, relevant, met, competent, ja, bestanden, richtig, wahr, gut, angenommen, erfüllt, "
    "oui, vrai, réussi, reçu, admis, bon, bien, sí, si, verdadero, aprobado, correcto, bueno, apto, sì, vero, "
    "superato, corretto, idoneo, promosso, buono, sim, verdadeiro, aprovado, correto, bom, waar, geslaagd, goed, "
    "voldoende, juste, juist"
)
_FAIL = words(
    "false, fail, failed, no, incorrect, bad, reject, rejected, decline, declined, wrong, negative, thumbs down, "
    "thumbs_down, down, dislike, unsafe, unacceptable, n, f, not ok, 👎, ✗, ✘, ✖, ✖️, ☐, ☒, ❌, 👎🏻, 👎🏼, "
    "👎🏽, 👎🏾, 👎🏿, 🙁, unsatisfactory, not pass, invalid, irrelevant, not met, not yet competent, not "
    "passed, disapproved, not acceptable, nein, nicht bestanden, durchgefallen, falsch, schlecht, abgelehnt, "
    "nicht erfüllt, non, faux, échoué, refusé, ajourné, mauvais, mal, falso, suspenso, reprobado, incorrecto, "
    "malo, no apto, non superato, non corretto, non idoneo, bocciato, respinto, cattivo, scorretto, não, nao, "
    "reprovado, incorreto, ruim, mau, nee, onwaar, gezakt, slecht, onvoldoende, fout, onjuist"
)
VERDICTS: Mapping[str, float] = dict.fromkeys(_PASS, 1.0) | dict.fromkeys(_FAIL, 0.0)

_SINGLE = frozenset(("y", "n", "t", "f", "up", "down", "+", "mal", "si"))
"""Taken for a verdict only beside its opposite."""

LADDERS: tuple[tuple[str, ...], ...] = tuple(
    words(steps)
    for steps in (
        "very poor, poor, fair, good, very good, excellent, outstanding",
        "unsatisfactory, needs improvement, satisfactory, good, excellent",
        "very bad, bad, neutral, good, very good",
        "bad, mediocre, good",
        "bad, average, good",
        "bad, ok, good",
        "poor, average, good, excellent",
        "terrible, poor, okay, good, excellent",
        "strongly disagree, disagree, somewhat disagree, neutral, somewhat agree, agree, strongly agree",
        "strongly disagree, disagree, neither agree nor disagree, agree, strongly agree",
        "strongly disagree, disagree, neutral, agree, strongly agree",
        "very low, low, medium, high, very high",
        "low, moderate, high",
        "incorrect, partially correct, correct",
        "incorrect, partial, correct",
        "wrong, partially correct, correct",
        "incorrect, partly correct, correct",
        "no, partially, yes",
        "no, partly, yes",
        "no, somewhat, yes",
        "no, maybe, yes",
        "fail, borderline, pass",
        "fail, pass, merit, distinction",
        "fail, pass, credit, distinction, high distinction",
        "fail, third, lower second, upper second, first",
        "reject, weak reject, borderline, weak accept, accept",
        "strong reject, reject, weak reject, borderline, weak accept, accept, strong accept",
        "reject, major revision, minor revision, accept",
        "beginning, developing, proficient, exemplary",
        "below basic, basic, proficient, advanced",
        "below, meets, exceeds",
        "not met, partially met, met",
        "never, rarely, sometimes, often, always",
        "a1, a2, b1, b2, c1, c2",
        "ungenügend, mangelhaft, ausreichend, befriedigend, gut, sehr gut",
        "nicht ausreichend, ausreichend, befriedigend, gut, sehr gut",
        "schlecht, mittel, gut",
        "trifft nicht zu, trifft eher nicht zu, teils/teils, trifft eher zu, trifft zu",
        "nein, teilweise, ja",
        "insuffisant, passable, assez bien, bien, très bien",
        "non, en partie, oui",
        "suspenso, aprobado, notable, sobresaliente",
        "malo, regular, bueno, muy bueno, excelente",
        "insufficiente, sufficiente, discreto, buono, distinto, ottimo",
        "péssimo, ruim, regular, bom, muito bom, ótimo",
        "insuficiente, regular, bom, muito bom, excelente",
        "onvoldoende, matig, voldoende, goed, zeer goed, uitstekend",
    )
)
"""Ordered answers, the lowest first."""

_GRADE = re.compile(r"([A-F])\s*(\+{1,2}|-|−|–)?")
_STARS = re.compile(r"[★⭐]️?")


def verdict(words: Collection[str]) -> dict[str, float] | None:
    """Passes and fails by word, where all are verdicts; single letters need their opposites.

    Examples
    --------
    >>> verdict(["Good", "bad"]), verdict(["pass", "maybe"]), verdict(["y"])
    ({'Good': 1.0, 'bad': 0.0}, None, None)
    """
    folded = {word: word.casefold() for word in words}
    if not folded or not all(word in VERDICTS for word in folded.values()):
        return None
    found = {word: VERDICTS[text] for word, text in folded.items()}
    if set(folded.values()) & _SINGLE and len(set(found.values())) < 2:
        return None
    return found


def ladder(words: Collection[str]) -> dict[str, float] | None:
    """Ordered answers by word, counted from 0 over those that occur or stand between them.

    Examples
    --------
    >>> ladder(["Good", "poor", "fair"])
    {'poor': 0.0, 'fair': 1.0, 'Good': 2.0}
    """
    folded = {word.casefold(): word for word in words}
    fitting = [steps for steps in LADDERS if len(folded) >= 2 and set(folded) <= set(steps)]
    if not fitting:
        return None
    steps = min(fitting, key=len)
    places = sorted(steps.index(word) for word in folded)
    return {folded[steps[place]]: float(place - places[0]) for place in places}


def letters(words: Collection[str]) -> dict[str, float] | None:
    """Grades A to F with plus and minus, the worst that occurs as 0: A-F is 5-0, and A, B, C, D, F is 4-0.

    Examples
    --------
    >>> letters(["A", "B", "F", "C", "D", "E"])
    {'F': 0.0, 'E': 1.0, 'D': 2.0, 'C': 3.0, 'B': 4.0, 'A': 5.0}
    >>> letters(["B+", "A-", "B"]), letters(["A", "Z"])
    ({'B': 0.0, 'B+': 1.0, 'A-': 2.0}, None)
    """
    found = {word: _GRADE.fullmatch(word.strip().upper()) for word in words}
    if len(found) < 2 or not all(found.values()):
        return None
    marks = {word: match.groups(default="") for word, match in found.items() if match is not None}
    sign = {"": 0, "+": 1, "++": 2}
    value = {word: -3 * ord(letter) + sign.get(added, -1) for word, (letter, added) in marks.items()}
    signed = any(added for _, added in marks.values())
    if not signed:
        # Without signs, a letter that does not occur keeps its place; E alone does not exist in many countries.
        seen = {letter for letter, _ in marks.values()}
        scale = [one for one in "ABCDEF" if min(seen) <= one <= max(seen) and (one != "E" or "E" in seen)]
        value = {word: -scale.index(letter) for word, (letter, _) in marks.items()}
        lowest = min(value.values())
        return {word: float(step - lowest) for word, step in sorted(value.items(), key=lambda pair: pair[1])}
    ranks = {step: place for place, step in enumerate(sorted(set(value.values())))}
    return {word: float(ranks[step]) for word, step in sorted(value.items(), key=lambda pair: pair[1])}


def stars(words: Collection[str]) -> dict[str, float] | None:
    """Stars, counted.

    Examples
    --------
    >>> stars(["★", "★★★☆☆"])
    {'★': 1.0, '★★★☆☆': 3.0}
    """
    counts = {word: float(len(_STARS.findall(word))) for word in words}
    rest = {_STARS.sub("", word).strip("☆ ") for word in words}
    return counts if counts and rest == {""} and any(counts.values()) else None


_LEADING = re.compile(r"(\d{1,3})\s*[-–—:.)=(]\s*(?=[^\d\s])(.*)", re.DOTALL)


def leading_numbers(words: Collection[str]) -> dict[str, float] | None:
    """Numbers with their meaning behind them: "5 - excellent", "1 (poor)". Each number must mean one thing.

    Examples
    --------
    >>> leading_numbers(["1 - poor", "5 (excellent)"]), leading_numbers(["2: poor", "2: good"])
    ({'1 - poor': 1.0, '5 (excellent)': 5.0}, None)
    """
    found = {word: _LEADING.fullmatch(word.strip()) for word in words}
    if not found or not all(found.values()):
        return None
    meant = {word: (float(match[1]), match[2]) for word, match in found.items() if match is not None}
    texts: dict[float, set[str]] = {}
    for number, text in meant.values():
        texts.setdefault(number, set()).add(text.strip(" )").casefold())
    if len(meant) < 2 or any(len(same) > 1 for same in texts.values()):
        return None
    return {word: number for word, (number, _) in meant.items()}


@cache
def _all_words() -> frozenset[str]:
    return frozenset(VERDICTS) | {word for steps in LADDERS for word in steps}


def is_score_word(text: str) -> bool:
    """Whether a text can be a score: a verdict, a grade, an ordered answer, stars, or a number with its meaning."""
    word = text.strip()
    folded = word.casefold()
    return (
        folded in _all_words()
        or _GRADE.fullmatch(word) is not None
        or stars([word]) is not None
        or (_LEADING.fullmatch(word) is not None and len(word) < 60)
    )
