"""Words for roles, raters, items, totals, verdicts, grades and missing marks, in the languages that are read."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from raterlens.base.text import counted
from raterlens.reading.read_plan import Finding


def _listed(text: str) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(word for line in text.splitlines() for word in line.removesuffix(",").split(", ") if word)


def _sections() -> dict[str, str]:
    """The text of each section of `words.txt`, without comments."""
    text = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8")
    _, *parts = re.split(
        r"^\[([^\[\]]+)\]$", re.sub(r"^# .*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    )
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


_SECTIONS = _sections()
ROLES = ("student", "rater", "item", "score")

SUFFIX = re.compile(
    r"_?(ids?|name|no|nr|num|number|code|key|uid|initials?|email|username|kennung|nummer|kod|codigo|codice|kood|koodi|kode|kuerzel|kurzel|nom|nombre|nome|naam|numer|号|號|番号|编号|編號)$"
)
_OUT_OF = re.compile(
    r"(?<=\S)\s*(/\s*\d+|[(\[]\s*((out of|max\.?|von|sur|su|de|van|of|/)\s*)?\d[\d\s.,/%–-]*[)\]]|out of \d+)$",
    re.IGNORECASE,
)
"""End of a heading that gives the highest score."""
_HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})")
_PREFIX = re.compile(
    r"^(id|name|nom|nombre|nome|naam|code|nummer|numero|no|nr|n)_"
    r"(de_la_|de_l_|del_|della_|dello_|do_|da_|de_|du_|des_|di_|van_de_|van_|of_the_|of_|der_|l_|d_)?"
)


@cache
def plain(name: str) -> str:
    """'Student ID', 'student.id' and 'Étudiant' without what differs between spellings.

    Examples
    --------
    >>> plain("Student ID"), plain("Prüfling"), plain("N° du candidat"), plain("studentId"), plain("IPAddress")
    ('student_id', 'prufling', 'n_du_candidat', 'student_id', 'ip_address')
    """
    name = _HUMP.sub("_", name)
    text = unicodedata.normalize("NFKD", name.casefold().replace("n°", "n ").replace("nº", "n "))
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return re.sub(r"[^\w#]+|_+", "_", text).strip("_")


@cache
def stems(name: str) -> frozenset[str]:
    """A name as it is, and without what is added to say that it is an identifier.

    Examples
    --------
    >>> sorted(stems("Nom du candidat")), sorted(stems("student_id"))
    (['candidat', 'nom_du_candidat'], ['student', 'student_id'])
    >>> stems("Mark (out of 20)")
    frozenset({'mark'})
    """
    whole = plain(_OUT_OF.sub("", name))
    found = {whole, SUFFIX.sub("", whole), _PREFIX.sub("", whole)}
    found |= {SUFFIX.sub("", stem) for stem in found}
    return frozenset(stem for stem in found if stem)


@cache
def known(*sections: str) -> frozenset[str]:
    """The words of these sections as `plain` has them, with both ways to write German umlauts without dots."""
    pairs = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
    words = (word for name in sections for word in _listed(_SECTIONS[name]))
    return frozenset(plain(form) for word in words for form in (word, word.translate(pairs)))


@cache
def names_of(role: str) -> frozenset[str]:
    """All names of a role."""
    return known(f"{role}, first", role)


def _either(*sections: str) -> str:
    """A pattern that every word of these sections fits, as `plain` has it."""
    return "|".join(map(re.escape, sorted(known(*sections))))


@cache
def said(*sections: str) -> frozenset[str]:
    """The words of these sections in small letters, with their signs."""
    return frozenset(word.casefold() for name in sections for word in _listed(_SECTIONS[name]))


def tier(name: str, role: str) -> int | None:
    """How usual a name is for a role: 0, 1, or None where it is not; "annotation_id" is not a score."""
    found = {plain(_OUT_OF.sub("", name))} if role == "score" else stems(name)
    ranks = (rank for rank, section in enumerate((f"{role}, first", role)) if found & known(section))
    return next(ranks, None)


def mentions(name: str, role: str) -> bool:
    """Whether a longer heading has a word for the role in it: "Name of the student you assess"."""
    words = {word for part in plain(name).split("_") for word in (part, part.removesuffix("s"))}
    return bool(words & names_of(role))


def roles_named(columns: Iterable[str]) -> set[str]:
    """The roles that names of columns speak of.

    Examples
    --------
    >>> sorted(roles_named(["student_id", "rater_id", "score", "day"]))
    ['rater', 'score', 'student']
    """
    names = list(columns)
    found = {
        role
        for role in ("student", "rater", "item", "score")
        if any(tier(n, role) is not None for n in names)
    }
    return found | {"student"} if any(is_identifier(n) or mentions(n, "student") for n in names) else found


def last_part(name: str) -> str:
    """The end of a name that is made of several: "score" of "result.score" and of "Grading info: Score"."""
    parts = re.split(r"[./]|:\s*", name)
    return parts[-1] if len(parts) > 1 else ""


def is_identifier(name: str) -> bool:
    """Whether a column is called as whatever has an identifier: "id", "sample_id", "key"."""
    whole = plain(name)
    return whole in known("identifiers") or SUFFIX.search(whole) is not None


def is_key(name: str) -> bool:
    """Whether a column holds what identifies people: a user name or a number."""
    return bool(
        {*plain(name).split("_")} & {"id", "username", "number", "no", "nr", "code", "email", "matrikel"}
    )


def is_other(name: str) -> bool:
    """Whether a column is called as something that is neither a role nor a score."""
    technical = name.startswith("_") or bool({*plain(name).split("_")} & known("metadata"))
    return technical or is_gold(name) or bool({plain(name), *stems(name)} & known("other"))


def is_gold(name: str) -> bool:
    """Whether a column is called as known answers are: "gold", "human_label", "metadata.expected"."""
    found = {plain(name), *stems(name), plain(last_part(name))}
    return bool(
        found & known("gold")
        or {*plain(name).split("_")} & {"gold", "golden", "groundtruth", "truth"}
        or _of_scores(name, "answer key")
    )


def is_final(name: str) -> bool:
    """Whether marks are called as those that several people agreed on: "Final mark", "Endpunkte"."""
    return bool({plain(name), *plain(name).split("_")} & known("final", "arbiters"))


def of_arbiter(name: str) -> bool:
    """Whether marks are called as those of somebody who decides between others: "Moderator mark"."""
    return bool({plain(name), *plain(name).split("_")} & known("arbiters"))


def _of_scores(name: str, section: str) -> bool:
    """Whether a name is a word for scores with one of a section before or behind it: "Overall band", "true grade"."""
    words = {*plain(_OUT_OF.sub("", name)).split("_")}
    scores = words & (names_of("score") | known("bands"))
    return bool(scores) and bool(words - scores) and words - scores <= known(section)


def has_rater_word(name: str) -> bool:
    """Whether a word for raters is in a name, with a number or another word joined to it: "Marker1", "Zweitprüfer"."""
    parts = [re.sub(r"\d+$", "", part) for part in plain(name).split("_")]
    usual = names_of("rater")
    return any(
        part in usual or any(len(word) > 5 and part.endswith(word) for word in usual)
        for part in parts
        if part
    )


def usual_role(name: str) -> str | None:
    """The role that a name, singular or plural, is usual for."""
    whole = plain(name)
    forms = stems(name) | {whole.removesuffix("s"), whole.removesuffix("es")}
    return next((role for role in ROLES if forms & names_of(role)), None)


_RATERS = re.compile(rf"[rjaw]_?\d+|({_either('rater, first', 'rater', 'numbered raters')})_?(\d+|[a-z])?")
_PEOPLE = re.compile(rf".+({_either('titles')})")
_MODELS = re.compile(rf"({_either('models')})([_\d].*|[a-z]?)")
_ITEMS = re.compile(
    rf"[qitck]_?\d{{1,2}}[a-z]?|({_either('item, first', 'item', 'numbered items')})_?(\d+[a-z]?|[ivx]+)"
)
_QUALITIES = re.compile(
    r"\w{3}(tion|sion|cion|cao|zione|ita|idad|dade|itat|keit|heit|ness|ency|encia|osc|nost|ite|logy|graphy|ity)$"
)
"""Ends of words for qualities, which few people are called by."""
_SIGNS = ("ø", "Ø", "Σ", "∑", "μ", "x̄")


def like_rater(label: str) -> bool:
    """Whether a label is one for a rater or a judge model: "Rater 1", "gpt-4o", "ann@school.org".

    Examples
    --------
    >>> [like_rater(label) for label in ("Judge 2", "R3", "gpt-4o", "ann@x.org", "Ann", "Content")]
    [True, True, True, True, False, False]
    """
    text = plain(label)
    return bool(
        _PEOPLE.fullmatch(text)
        or _RATERS.fullmatch(text)
        or _MODELS.fullmatch(text)
        or re.fullmatch(r"\S+@\S+\.\w+", label.strip())
    )


def like_item(label: str) -> bool:
    """Whether a label is one for a criterion, a task or a subject: "Q1", "Inhalt", "Sentence fluency".

    Examples
    --------
    >>> [like_item(label) for label in ("Q1", "Inhalt", "Aufgabe 2a", "Ann")]
    [True, True, True, False]
    """
    text = plain(label)
    return bool(_ITEMS.fullmatch(text) or _QUALITIES.search(text)) or text in known("criteria")


def is_total(label: str) -> bool:
    """Whether a label says that the row or column sums up others: "Total", "Mittelwert:", "Ø".

    Examples
    --------
    >>> [is_total(label) for label in ("Total", "MITTELWERT:", "Ø", "Average (n=30)", "Totò", "@SUM(1)")]
    [True, True, True, True, False, False]
    """
    if label.lstrip().startswith("@"):  # a name as people have them online
        return False
    bare = re.sub(r"\s\([^)]*\)", "", label).strip(" :=*.-")
    return bare in _SIGNS or (
        bool(bare) and (plain(bare) in known("totals") or _of_scores(bare, "summing up"))
    )


@cache
def total_pattern() -> str:
    """A pattern that every label of a total fits, and few others do: for many labels at once."""
    words = {word[:4] for word in said("totals") if len(word) > 1}
    return "(?i)^[^a-zà-ÿ]*(" + "|".join(map(re.escape, sorted(words))) + ")|[" + "".join(_SIGNS[:5]) + "]"


def sides(raters: Iterable[str], items: Iterable[str]) -> bool | None:
    """Whether two lists of labels are raters and items in this order; None where the labels do not say."""
    first, second = list(raters), list(items)
    forward = _mostly(like_rater, first) + _mostly(like_item, second)
    backward = _mostly(like_item, first) + _mostly(like_rater, second)
    return None if forward == backward else forward > backward


def _mostly(kind: Callable[[str], bool], labels: Sequence[str]) -> bool:
    return 2 * sum(map(kind, labels)) > len(labels)


def nearly_all(kind: Callable[[str], bool], labels: Iterable[object]) -> bool:
    """Whether nearly all different labels are of a kind."""
    different = {str(label) for label in labels if label is not None}
    return bool(different) and sum(map(kind, different)) > 0.8 * len(different)


_BLANKS = frozenset(("", "na", "nan", "null", "none", ".", "-", "–", "—", "?", "#n/a", "nd", "<na>"))
_FAULT = re.compile(r"\W*(\w+[ _-]?){0,2}(error|exception)\b.*", re.IGNORECASE | re.DOTALL)
MISSING = _BLANKS | said("absent")


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing score: blank, absent, withdrawn, or an error of a program.

    Examples
    --------
    >>> [is_missing(text) for text in ("", "ABS", "PARSE_ERROR", "Error: timeout", "entschuldigt", "fail", "weak")]
    [True, True, True, True, True, False, False]
    """
    folded = text.strip().casefold().replace("i\u0307", "i")  # of a Turkish capital
    return folded in MISSING or (len(folded) < 200 and _FAULT.fullmatch(folded) is not None)


def missing_among(words: Iterable[str]) -> set[str]:
    """Those that stand for a missing score; beside the next word of a scale none does.

    Examples
    --------
    >>> sorted(missing_among(["Absent", "good"])), missing_among(["absent", "present"])
    (['Absent'], set())
    """
    missing = {word for word in words if is_missing(word)}
    if len(missing) == 1 and (word := next(iter(missing)).strip().casefold()) in _all_words():
        others = {other.casefold() for other in words} - {word}
        if any(word in steps and others & set(steps) for steps in LADDERS):
            return set()
    return missing


def says_missing(text: str) -> bool:
    """Whether it does so in words, which is worth a note."""
    return is_missing(text) and text.strip().casefold() not in _BLANKS


VERDICTS: Mapping[str, float] = dict.fromkeys(said("pass"), 1.0) | dict.fromkeys(said("fail"), 0.0)

_SINGLE = frozenset(("y", "n", "t", "f", "up", "down", "+", "mal", "si"))
"""Taken for a verdict only beside its opposite."""

LADDERS = [line.split(", ") for line in _SECTIONS["ordered answers"].splitlines()]
"""Ordered answers, the lowest first."""

GRADED = [
    {word: level for level, part in enumerate(line.split(" < ")) for word in part.split(", ")}
    for line in _SECTIONS["graded words"].splitlines()
]
"""Levels of words, scale by scale."""

_GRADE = re.compile(r"([A-GU])\s*(\+{1,2}|-|−|–|\*)?")
_LEVEL = re.compile(
    r"(level|band|grade|step|stage|stufe|niveau|nivel|livello|nível|a)\s*(\d{1,2})", re.IGNORECASE
)
_SIGNED = re.compile(r"(\d)\s*([+\-−–])")
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
    """Ordered answers by word, counted from 0 over those that occur or stand between them; words of praise and blame
    by their level, if no two have the same.

    Examples
    --------
    >>> ladder(["Good", "poor", "fair"]), ladder(["Very poor", "AVERAGE", "superb"])
    ({'poor': 0.0, 'fair': 1.0, 'Good': 2.0}, {'Very poor': 0.0, 'AVERAGE': 1.0, 'superb': 2.0})
    """
    folded = {word.casefold(): word for word in words}
    fitting = [steps for steps in LADDERS if len(folded) >= 2 and set(folded) <= set(steps)]
    if fitting:
        steps = min(fitting, key=len)
        places = sorted(steps.index(word) for word in folded)
        return {folded[steps[place]]: float(place - places[0]) for place in places}
    for level in GRADED:
        placed = sorted((level[word], word) for word in folded if word in level)
        if len(placed) == len(folded) == len({place for place, _ in placed}) > 1:
            return {folded[word]: float(step) for step, (_, word) in enumerate(placed)}
    return None


def letters(words: Collection[str]) -> dict[str, float] | None:
    """Grades A to G and U with plus, minus and star, the worst that occurs as 0: A-F is 5-0, and A, B, C, D, F is 4-0.

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
    sign = {"": 0, "+": 1, "*": 1, "++": 2}
    value = {word: -3 * ord(letter) + sign.get(added, -1) for word, (letter, added) in marks.items()}
    signed = any(added for _, added in marks.values())
    if not signed:
        # Without signs, a letter that does not occur keeps its place; E alone does not exist in many countries.
        seen = {letter for letter, _ in marks.values()}
        scale = [
            one for one in "ABCDEFGU" if min(seen) <= one <= max(seen) and (one in "ABCD" or one in seen)
        ]
        value = {word: -scale.index(letter) for word, (letter, _) in marks.items()}
        lowest = min(value.values())
        return {word: float(step - lowest) for word, step in sorted(value.items(), key=lambda pair: pair[1])}
    ranks = {step: place for place, step in enumerate(sorted(set(value.values())))}
    return {word: float(ranks[step]) for word, step in sorted(value.items(), key=lambda pair: pair[1])}


def signed_numbers(
    words: Collection[str], numbers: Collection[float], *, lowest_best: bool
) -> dict[str, float] | None:
    """Numbers with a plus or a minus, which is better or worse than the number alone, and numbers among them, from the
    worst as 0; None for other words. Where 1 is the best of 6, these are the points of German schools: 15 for 1+.

    Examples
    --------
    >>> signed_numbers(["2+", "3-"], [2.0], lowest_best=False)
    {'3-': 2.0, '2+': 1.0, '2': 0.0}
    >>> signed_numbers(["2+", "3-"], [2.0], lowest_best=True), signed_numbers(["2+", "x"], [], lowest_best=True)
    ({'2+': 12.0, '2': 11.0, '3-': 7.0}, None)
    """
    found = {word: match for word in words if (match := _SIGNED.fullmatch(word))}
    if not found or len(found) < len(words):
        return None
    way = -3 if lowest_best else 3
    place = {word: way * float(match[1]) + (1 if match[2] == "+" else -1) for word, match in found.items()}
    place |= {f"{number:g}": way * number for number in sorted(numbers)}
    schools = {-18, *range(-16, -1)} if lowest_best else set()  # 6, and 5- to 1+
    steps = sorted({*place.values(), *schools})
    return {word: float(steps.index(place[word])) for word in sorted(place, key=lambda word: -place[word])}


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


def levels(words: Collection[str]) -> dict[str, float] | None:
    """Numbers behind one word: "Level 3"; or A1 to A5, as LimeSurvey codes answers.

    Examples
    --------
    >>> levels(["Level 1", "level 3"]), levels(["Level 1", "Band 2"])
    ({'Level 1': 1.0, 'level 3': 3.0}, None)
    """
    found = {word: _LEVEL.fullmatch(word.strip()) for word in words}
    parts = {
        word: (match[1].casefold(), float(match[2])) for word, match in found.items() if match is not None
    }
    if len(words) < 2 or len(parts) < len(words) or len({start for start, _ in parts.values()}) > 1:
        return None
    return {word: number for word, (_, number) in parts.items()}


_LEADING = re.compile(r"(\d{1,3})\s*[-–—:.)=(_]\s*(?=[^\d\s])(.*)", re.DOTALL)


def leading_numbers(words: Collection[str], *, meanings: int = 1) -> dict[str, float] | None:
    """Numbers with their meaning behind them: "5 - excellent", "1 (poor)". A number means one thing in each of so many
    columns.

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
    if len(meant) < 2 or any(len(same) > meanings for same in texts.values()):
        return None
    return {word: number for word, (number, _) in meant.items()}


@cache
def _all_words() -> frozenset[str]:
    return frozenset(VERDICTS) | {word for steps in (*LADDERS, *GRADED) for word in steps}


def is_score_word(text: str) -> bool:
    """Whether a text can be a score: a verdict, a grade, an ordered answer, stars, or a number with its meaning."""
    word = text.strip()
    folded = word.casefold()
    return (
        folded in _all_words()
        or _GRADE.fullmatch(word) is not None
        or _LEVEL.fullmatch(word) is not None
        or _SIGNED.fullmatch(word) is not None
        or stars([word]) is not None
        or (_LEADING.fullmatch(word) is not None and len(word) < 60)
    )


_COMMA = re.compile(r"[+-]?\d+,\d+")
_HALF = re.compile(r"(\d*)\s*([¼½¾])")
_PERCENT = re.compile(r"(\d+(?:[.,]\d+)?)\s*%")
_SHARE = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|out of|von|sur|de|su|van)\s*(\d+)", re.IGNORECASE)


def written_numbers(texts: Collection[str]) -> tuple[dict[str, float], list[Finding]]:
    """Numbers in other ways of writing: 2,5 and 75 % and 4/5 and 3½ and ３."""
    found = {text: float(text) for text in texts if not text.isascii() and text.isdecimal()}
    halves = {text: match for text in texts if (match := _HALF.fullmatch(text))}
    found |= {text: float(match[1] or 0) + unicodedata.numeric(match[2]) for text, match in halves.items()}
    notes: list[Finding] = []
    commas = sorted(text for text in texts if _COMMA.fullmatch(text))
    if commas:
        found |= {text: _float(text) for text in commas}
        notes.append(
            Finding(
                f"decimal commas in {counted(len(commas), 'score')}",
                f"{commas[0]!r} read as {_float(commas[0]):g}",
            )
        )
    found |= {text: _float(match[1]) for text in texts if (match := _PERCENT.fullmatch(text))}
    parts = {text: match for text in texts if (match := _SHARE.fullmatch(text))}
    whole = {match[2] for match in parts.values()}
    if len(whole) == 1:
        found |= {text: _float(match[1]) for text, match in parts.items()}
        first = min(parts)
        notes.append(
            Finding(f"scores out of {next(iter(whole))}", f"{first!r} read as {_float(parts[first][1]):g}")
        )
    return found, notes


def _float(text: str) -> float:
    return float(text.replace(",", "."))
