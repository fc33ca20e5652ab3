"""Findings about a file, what is done about each, and the options that say the same explicitly."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option
from raterlens.config import ReadConfig


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing in a file that a program could get wrong.

    Examples
    --------
    >>> halves = Finding("scores in steps of 0.5", "doubled", otherwise=Option("as_written", True))
    >>> halves.note
    'scores in steps of 0.5: doubled (otherwise: as_written=True)'
    """

    seen: str
    done: str
    options: tuple[Option, ...] = ()
    """Options that say it explicitly."""
    otherwise: Option | None = None
    """Option that says something else."""
    certain: bool = True
    """Whether it is done without asking."""

    @property
    def note(self) -> Message:
        """In one sentence, for the notes of the ratings."""
        turn: list[str | Option] = [] if self.otherwise is None else [" (otherwise: ", self.otherwise, ")"]
        return Message(f"{self.seen}: {self.done}", *turn)


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a file is understood: findings, and the request with all of them in it."""

    findings: tuple[Finding, ...]
    config: ReadConfig
    """Everything said: reading by it finds out nothing more, and asks nothing."""

    @property
    def questions(self) -> tuple[Finding, ...]:
        """Findings that a person has to decide."""
        return tuple(finding for finding in self.findings if not finding.certain)


class UncertainError(InputError):
    """A file that could be meant in more than one way; `proposal` has the likeliest, ready to be accepted."""

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        value: object = None,
        option: str | None = None,
        proposal: Proposal | None = None,
    ) -> None:
        super().__init__(what, remedy, value=value, option=option)
        self.proposal = proposal


class Understanding:
    """Findings so far, gathered while a file is read."""

    def __init__(self, config: ReadConfig) -> None:
        self.asked = config
        """By the user."""
        self.config = config
        """With everything that was found."""
        self.findings: list[Finding] = []

    @property
    def open(self) -> bool:
        """Whether a person has to decide something."""
        return any(not finding.certain for finding in self.findings)

    @property
    def proposal(self) -> Proposal:
        return Proposal(tuple(self.findings), self.config)

    def take(self, found: Iterable[Finding]) -> None:
        """Remember findings, and what they say of the request."""
        for finding in found:
            self.findings.append(finding)
            self.say(finding.options)

    def say(self, options: Sequence[Option]) -> None:
        changes: dict[str, Any] = {option.name: option.value for option in options}
        self.config = self.config.changed(**changes)

    def refuse_questions(self) -> None:
        """Raise where a person has to decide, with the likeliest answer to all questions."""
        questions = self.proposal.questions
        if not questions:
            return
        remedy: list[str | Option] = []
        for finding in questions:
            remedy += ["; " if remedy else "", f"proposal: {finding.done}; accept it with "]
            for place, option in enumerate(finding.options):
                remedy += [" and " if place else "", option]
            if finding.otherwise is not None:
                remedy += [", or choose otherwise, for example ", finding.otherwise]
        raise UncertainError(
            "; ".join(finding.seen for finding in questions),
            Message(*remedy),
            value=questions[0].seen,
            option=questions[0].options[0].name if questions[0].options else None,
            proposal=self.proposal,
        )
