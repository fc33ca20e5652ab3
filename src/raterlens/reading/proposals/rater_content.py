"""Which column is the rater, and who is rated, where only the contents can tell."""

from collections.abc import Sequence

from raterlens.base.text import Option, listed
from raterlens.reading.proposals.column_profiles import depends
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.label_words import is_total, like_rater
from raterlens.reading.proposals.role_detection import Look, Recognised
from raterlens.reading.proposals.role_words import is_other

FEW = 0.5
"""Share of the rows that a rater's labels may be at most."""


def rater_by_content(columns: Sequence[str], found: Recognised, look: Look) -> None:
    """Fill in the rater, and the student and the score where they are missing: a question, unless the labels are those
    of raters."""
    if "rater" in found.doubtful:
        return
    free = [name for name in columns if name and name not in found.roles.values()]
    guessed = {}
    if "score" not in found.roles and "score" not in found.doubtful:
        scores = [name for name in free if look[name].scored and not is_other(name) and not is_total(name)]
        if len(scores) != 1:
            return
        guessed["score"] = scores[0]
    labels = [
        name
        for name in free
        if name not in guessed.values()
        and look[name].kind in ("labels", "numbers", "scores")
        and not is_other(name)
    ]
    if "student" not in found.roles and "student" not in found.doubtful:
        if not labels:
            return
        guessed["student"] = max(labels, key=lambda name: look[name].distinct)
        labels.remove(guessed["student"])
    student = guessed.get("student") or found.roles.get("student")
    labels = [name for name in labels if 1 < look[name].distinct <= FEW * look[name].filled]
    labels = [name for name in labels if student is None or not depends(look.frame, name, [student])]
    people = [name for name in labels if _of_raters(name, look)]
    candidates = people or labels
    if not candidates:
        return
    guessed["rater"] = candidates[0]
    certain = len(people) == 1 and set(guessed) == {"rater"}
    found.roles |= guessed
    shown = ", ".join(f"{name!r} as the {role}" for role, name in sorted(guessed.items()))
    options = tuple(Option(role, name) for role, name in guessed.items())
    done = f"read with {shown}"
    found.findings.append(Finding(f"no rater column among {listed(columns)}", done, options, certain=certain))


def _of_raters(name: str, look: Look) -> bool:
    labels = look.frame[name].drop_nulls().unique().cast(str).to_list()
    return bool(labels) and sum(map(like_rater, map(str, labels))) > 0.8 * len(labels)
