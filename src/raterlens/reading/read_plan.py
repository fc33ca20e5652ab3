"""The plan by which a file is read: findings, what is done about each, and the options that say the same explicitly."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.config import ReadConfig


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing in a file that a program could get wrong.

    Examples
    --------
    >>> halves = Finding("scores in steps of 0.5", "doubled", alternative=Option("as_written", True))
    >>> halves.note
    'scores in steps of 0.5: doubled (otherwise: as_written=True)'
    """

    observed: str
    action: str
    options: tuple[Option, ...] = ()
    """Options that say it explicitly."""
    alternative: Option | None = None
    """Option that says something else."""
    certain: bool = True
    """Whether it is done without asking."""

    @property
    def note(self) -> Message:
        """In one sentence, for the notes of the ratings."""
        other: list[str | Option] = (
            [] if self.alternative is None else [" (otherwise: ", self.alternative, ")"]
        )
        return Message(f"{self.observed}: {self.action}", *other)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How a file is read. Each step of reading returns a new plan with what it found."""

    asked: ReadConfig
    """The options as the user gave them."""
    config: ReadConfig
    """The options with every finding in them: reading by these finds nothing more and asks nothing."""
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, config: ReadConfig) -> Self:
        """The plan before the file is opened."""
        return cls(config, config)

    @property
    def questions(self) -> tuple[Finding, ...]:
        """Findings that a person has to decide."""
        return tuple(finding for finding in self.findings if not finding.certain)

    def add(self, found: Iterable[Finding]) -> Self:
        """With further findings, and the options they stand for; without questions that the user has answered."""
        found = tuple(one for one in found if one.certain or not self._answers(one))
        plan = replace(self, findings=(*self.findings, *found))
        return plan.set_options(option for finding in found for option in finding.options)

    def _answers(self, question: Finding) -> bool:
        given = self.asked.given()
        return bool(question.options) and all(option.name in given for option in question.options)

    def set_options(self, options: Iterable[Option]) -> Self:
        changes: dict[str, Any] = {option.name: option.value for option in options}
        return replace(self, config=self.config.changed(**changes)) if changes else self

    def raise_questions(self) -> None:
        """Raise where a person has to decide, with the likeliest answer to all questions."""
        questions = self.questions
        if not questions:
            return
        remedy: list[str | Option] = []
        for finding in questions:
            remedy += ["; " if remedy else "", f"proposal: {finding.action}; accept it with "]
            for place, option in enumerate(finding.options):
                remedy += [" and " if place else "", option]
            if finding.alternative is not None:
                remedy += [", or choose otherwise, for example ", finding.alternative]
        raise UncertainError(
            "; ".join(finding.observed for finding in questions),
            Message(*remedy),
            value=questions[0].observed,
            option=questions[0].options[0].name if questions[0].options else None,
            proposal=self,
        )


class UncertainError(InputError):
    """A file that could be meant in more than one way; `proposal` has the likeliest, ready to be accepted."""

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        value: object = None,
        option: str | None = None,
        proposal: ReadPlan | None = None,
    ) -> None:
        super().__init__(what, remedy, value=value, option=option)
        self.proposal = proposal
