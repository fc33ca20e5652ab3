"""Whether the numbers of students, raters and items make sense: three students on 200 items are seldom meant."""

from collections.abc import Collection

from raterlens.base.text import Option
from raterlens.reading.columns import Roles
from raterlens.reading.proposals.findings import Finding
from raterlens.reading.proposals.role_words import tier

FEW, MANY = 5, 8
"""Up to 5 students, and 8 times as many of something else."""


def swapped(
    roles: Roles, students: int, raters: int, items: int, given: Collection[str]
) -> tuple[list[Finding], list[str]]:
    """What looks swapped: a question where roles were recognised by weak names, else a note."""
    for role, columns, number in (("item", roles.item, items), ("rater", roles.rater, raters)):
        if students > FEW or number < MANY * students or not columns or not roles.student:
            continue
        if any(name.startswith("{") for name in (*columns, *roles.student)):
            continue
        what = f"{students} students and {number} {role}s"
        sure = given & {"student", role} if isinstance(given, set) else {"student", role} & set(given)
        strong = all(tier(name, "student") == 0 for name in roles.student)
        if sure or strong:
            return [], [f"{what}: are the student and the {role} column swapped?"]
        options = (Option("student", columns), Option(role, roles.student))
        return [Finding(f"{what} look swapped", "read the other way round", options, certain=False)], []
    return [], []
