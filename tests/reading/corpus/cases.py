"""The corpus: tables as csv and Excel files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.reading.corpus import exports
from tests.reading.corpus.truth import (
    ALL,
    ITEMS,
    RATERS,
    STUDENTS,
    Grid,
    Rows,
    by_both,
    by_item,
    by_rater,
    long,
    marks,
    truth,
    verdicts,
    workbook,
)

BOTH = truth(items=ITEMS)
ONE = truth()
PASS = truth(verdicts)
JUDGES = ["gpt-4o", "claude-3-5-sonnet", "llama-3-70b"]
JUDGED = truth(verdicts, raters=JUDGES)
NUMBERED = [f"Judge {n}" for n in (1, 2, 3)]


@dataclass(frozen=True)
class Case:
    """A file, and what is to be read from it."""

    name: str
    make: Grid | Callable[[Path], None]
    rows: Rows
    file: str = "file.csv"
    asks: bool = False
    """Whether a person has to confirm first."""
    changes: bool = True
    """Whether the table may be changed as `test_metamorphic` does."""

    def write(self, folder: Path) -> Path:
        path = folder / self.file
        if isinstance(self.make, Grid):
            self.make.write(path)
        else:
            self.make(path)
        return path


def words(*scale: str) -> Callable[[int], str]:
    """Words for scores, the lowest first."""
    return lambda score: scale[score]


def scaled(factor: int, rows: Rows = ONE) -> Rows:
    return [(s, r, i, factor * y) for s, r, i, y in rows]


DE = ("Prüfling", "Prüfer", "Aufgabe", "Punkte")

LONG = [
    Case("english", long(BOTH), BOTH),
    Case("German", long(BOTH, DE, separator=";"), BOTH),
    Case("French", long(BOTH, ("candidat", "correcteur", "critère", "note"), separator=";"), BOTH),
    Case("Spanish", long(BOTH, ("estudiante", "evaluador", "criterio", "puntuación")), BOTH),
    Case("Italian", long(BOTH, ("studente", "valutatore", "criterio", "punteggio")), BOTH),
    Case("Portuguese", long(BOTH, ("aluno", "avaliador", "critério", "nota")), BOTH),
    Case("Dutch", long(BOTH, ("leerling", "beoordelaar", "opdracht", "cijfer")), BOTH),
    Case("umlauts in Windows' encoding", long(BOTH, DE, separator=";", encoding="cp1252"), BOTH),
    Case("UTF-16 with a mark", long(BOTH, DE, separator="\t", encoding="utf-16"), BOTH, "file.txt"),
    Case("UTF-16 without a mark", long(BOTH, DE, separator="\t", encoding="utf-16-le"), BOTH, "file.tsv"),
    Case("a title above", long(BOTH, plain_above="Marks of June\n\n"), BOTH),
    Case(
        "a title with commas above a table with semicolons",
        long(BOTH, separator=";", plain_above="Marks, June\n"),
        BOTH,
    ),
    Case("comments above", long(BOTH, plain_above="# exported 2026-06-01\n# by the office\n"), BOTH),
    Case("a title of two cells", long(BOTH, above=[["Exam", "June 2026", "", ""], ["", "", "", ""]]), BOTH),
    Case("a remark below", long(BOTH, plain_below="\nSource: examination office\n"), BOTH),
    Case(
        "a total below",
        long(ONE, ("student", "rater", "score"), below=[["Total", "", sum(y for *_, y in ONE)]]),
        ONE,
    ),
    Case(
        "columns that are no part of it",
        Grid(
            ["date", "student", "school", "rater", "age", "item", "score", "comment"],
            [
                [
                    f"2026-06-{n % 28 + 1:02}",
                    s,
                    f"School {int(s[1:]) % 3}",
                    r,
                    20 + int(s[1:]),
                    i,
                    y,
                    "well done" if y else "",
                ]
                for n, (s, r, i, y) in enumerate(BOTH)
            ],
            {"student": "student", "rater": "rater", "item": "item", "score": "score"},
        ),
        BOTH,
    ),
    Case(
        "an identifier and the text that is rated",
        Grid(
            ["question_id", "prompt", "response", "judge", "verdict"],
            [
                [
                    s,
                    f"Why is the sky blue, asked for the time {s}?",
                    f"Because of scattering, as {s} says at length.",
                    r,
                    "pass" if y else "fail",
                ]
                for s, r, _, y in JUDGED
            ],
            {"judge": "rater", "verdict": "score"},
        ),
        JUDGED,
    ),
    Case(
        "id, text and annotator",
        Grid(
            ["id", "text", "annotator", "label"],
            [[s, f"A review of some length, the one that is called {s} here.", r, y] for s, r, _, y in PASS],
            {"annotator": "rater", "label": "score"},
        ),
        PASS,
    ),
    Case("a crowd", long(PASS, ("task", "worker", "label")), PASS, changes=False),
    Case(
        "a crowd that says yes and no",
        long(PASS, ("task", "worker", "label"), words("no", "yes")),
        PASS,
        changes=False,
    ),
    Case(
        "an identifier and a name for each student",
        Grid(
            ["student_id", "student_name", "rater", "score"],
            [[s, f"Pupil {s}", r, y] for s, r, _, y in ONE],
            {"rater": "rater", "score": "score"},
        ),
        ONE,
    ),
    Case(
        "a heading in words",
        Grid(
            ["Name of the student", "Name of the rater", "Score"],
            [[s, r, y] for s, r, _, y in ONE],
            {"Name of the student": "student", "Name of the rater": "rater", "Score": "score"},
        ),
        ONE,
    ),
    Case(
        "one rater spelled in three ways",
        Grid(
            ["student", "rater", "score"],
            [
                [s, [r, r.lower(), f"{r} "][n % 9 // 3 if r == "Ann" and n % 4 == 0 else 0], y]
                for n, (s, r, _, y) in enumerate(ONE)
            ],
            {"student": "student", "rater": "rater", "score": "score"},
        ),
        ONE,
    ),
    Case(
        "scores of which some are text",
        long(ONE, ("student", "rater", "score"), lambda y: f"'{y}" if y % 2 else f" {y}"),
        ONE,
    ),
    Case(
        "a dash where there is no score",
        Grid(
            ["student", "rater", "score"],
            [[s, r, y] for s, r, _, y in ONE] + [["S01", "Dora", "-"], ["S02", "Dora", "n/a"]],
            {"student": "student", "rater": "rater", "score": "score"},
        ),
        ONE,
    ),
    Case(
        "old line ends",
        lambda path: path.write_bytes(
            long(ONE, ("student", "rater", "score")).text().replace(b"\n", b"\r\n")
        ),
        ONE,
    ),
    Case(
        "a column for the row number",
        Grid(
            ["", "student", "rater", "score"],
            [[n, s, r, y] for n, (s, r, _, y) in enumerate(ONE)],
            {"student": "student", "rater": "rater", "score": "score"},
        ),
        ONE,
    ),
]

SCORES = [
    Case(
        "comments by an identifier",
        long(PASS, ("comment_id", "annotator", "label"), words("unsafe", "safe")),
        PASS,
    ),
    Case("pass and fail", long(PASS, ("student", "rater", "score"), words("fail", "pass")), PASS),
    Case("good and bad", long(PASS, ("sample", "annotator", "rating"), words("bad", "good")), PASS),
    Case(
        "accept and reject",
        long(PASS, ("submission", "reviewer", "decision"), words("reject", "accept")),
        PASS,
    ),
    Case("true and false", long(PASS, ("student", "rater", "correct"), words("FALSE", "TRUE")), PASS),
    Case(
        "correct and incorrect",
        long(PASS, ("response_id", "grader", "verdict"), words("Incorrect", "Correct")),
        PASS,
    ),
    Case("thumbs", long(PASS, ("response_id", "user", "rating"), words("👎", "👍")), PASS),
    Case("check marks", long(PASS, ("student", "rater", "score"), words("✗", "✓")), PASS),
    Case("minus one and one", long(PASS, ("student", "rater", "score"), lambda y: 2 * y - 1), PASS),
    Case(
        "ja und nein",
        long(PASS, ("Schüler", "Lehrer", "bestanden"), words("nein", "ja"), separator=";"),
        PASS,
    ),
    Case("grades A to E", long(ONE, ("student", "rater", "grade"), words("E", "D", "C", "B", "A")), ONE),
    Case("grades A to F", long(ONE, ("student", "rater", "grade"), words("F", "D", "C", "B", "A")), ONE),
    Case(
        "grades with plus and minus",
        long(ONE, ("student", "rater", "grade"), words("C", "C+", "B-", "B", "A-")),
        ONE,
    ),
    Case("half points", long(ONE, ("student", "rater", "score"), lambda y: y / 2), ONE),
    Case(
        "decimal commas",
        long(ONE, ("Prüfling", "Prüfer", "Punkte"), lambda y: f"{y / 2}".replace(".", ","), separator=";"),
        ONE,
    ),
    Case(
        "numbers with their meaning",
        long(
            ONE,
            ("student", "rater", "score"),
            words("0 - none", "1 - poor", "2 - fair", "3 - good", "4 - excellent"),
        ),
        ONE,
    ),
    Case(
        "poor to excellent",
        long(ONE, ("student", "rater", "rating"), words("Poor", "Fair", "Good", "Very good", "Excellent")),
        ONE,
    ),
    Case(
        "German grades in words",
        long(
            ONE,
            ("Prüfling", "Prüfer", "Bewertung"),
            words("mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"),
            separator=";",
        ),
        ONE,
    ),
    Case("points out of four", long(ONE, ("student", "rater", "score"), lambda y: f"{y}/4"), ONE),
    Case(
        "stars",
        long([(s, r, i, y + 1) for s, r, i, y in ONE], ("sample", "user", "stars"), lambda y: "★" * y),
        [(s, r, i, y + 1) for s, r, i, y in ONE],
    ),
    Case(
        "one to five",
        long([(s, r, i, y + 1) for s, r, i, y in ONE], ("student", "rater", "score")),
        [(s, r, i, y + 1) for s, r, i, y in ONE],
    ),
    Case("quarters of one", long(ONE, ("student", "rater", "score"), lambda y: y / 4), ONE),
]

WIDE = [
    Case(
        "judges beside the known answer",
        by_rater(JUDGED, "sample_id").with_column("gold", [int(s[1:]) % 2 for s in STUDENTS]),
        JUDGED,
    ),
    Case("a column per rater", by_rater(ONE), ONE),
    Case(
        "a column per rater and a mean below",
        by_rater(
            ONE,
            below=[
                ["Average", *(round(sum(y for _, r, _, y in ONE if r == rater) / 12, 2) for rater in RATERS)]
            ],
        ),
        ONE,
    ),
    Case("a column per judge model", by_rater(JUDGED, "question_id", words("no", "yes")), JUDGED),
    Case(
        "numbered judges",
        by_rater(truth(verdicts, raters=NUMBERED), "essay", words("fail", "pass")),
        truth(verdicts, raters=NUMBERED),
    ),
    Case("marks by name", by_rater(ONE, "Student", named="Mark {}"), ONE),
    Case("scores of models", by_rater(JUDGED, "id", named="score_{}"), JUDGED),
    Case(
        "judges beside prompt and answer",
        Grid(
            ["prompt", "answer", *JUDGES],
            [
                [
                    f"Explain item {s} to a child of six years, please.",
                    f"Item {s} is a thing that one can explain at length.",
                    *({(t, r): y for t, r, _, y in JUDGED}[s, j] for j in JUDGES),
                ]
                for s in STUDENTS
            ],
        ),
        sorted((f"Item {s} is a thing that one can explain at length.", r, i, y) for s, r, i, y in JUDGED),
        changes=False,
    ),
    Case(
        "judges and nothing else",
        Grid(JUDGES, [[{(t, r): y for t, r, _, y in JUDGED}[s, j] for j in JUDGES] for s in STUDENTS]),
        sorted((str(int(s[1:])), r, i, y) for s, r, i, y in JUDGED),
        changes=False,
    ),
    Case("a column per rater and item", by_both(BOTH, "{rater} {item}"), BOTH),
    Case(
        "raters and questions by number",
        by_both(truth(raters=["R1", "R2", "R3"], items=["Q1", "Q2"]), "{rater}_{item}"),
        truth(raters=["R1", "R2", "R3"], items=["Q1", "Q2"]),
    ),
    Case(
        "the item before the rater",
        by_both(truth(raters=["Rater 1", "Rater 2"], items=ITEMS), "{item} ({rater})"),
        truth(raters=["Rater 1", "Rater 2"], items=ITEMS),
    ),
    Case(
        "two header rows",
        Grid(
            ["", *(i for _ in RATERS for i in ITEMS)],
            by_both(BOTH, "{rater}{item}").rows,
            upper=["Student", *(cell for r in RATERS for cell in (r, ""))],
        ),
        BOTH,
        changes=False,
    ),
    Case(
        "two header rows, items above",
        Grid(
            ["Student", *(r for _ in ITEMS for r in RATERS)],
            [[s, *(marks(n, r, i) for i in (0, 1) for r in (0, 1, 2))] for n, s in enumerate(STUDENTS)],
            upper=["", *(cell for i in ITEMS for cell in (i, "", ""))],
        ),
        BOTH,
        changes=False,
    ),
    Case("a column per item", by_item(BOTH), BOTH),
    Case(
        "a column per item, in German",
        by_item(truth(items=["Inhalt", "Sprache"]), ("Schüler", "Korrektor"), separator=";"),
        truth(items=["Inhalt", "Sprache"]),
    ),
    Case(
        "items, their total, a school and remarks",
        Grid(
            ["student", "rater", "school", "content", "style", "total", "remarks"],
            [
                [s, r, int(s[1:]) % 3, c, t, c + t, "neat" if c > 2 else ""]
                for s, r, c, t in [(row[0], row[1], row[2], row[3]) for row in by_item(BOTH).rows]
            ],
            {"student": "student", "rater": "rater"},
        ),
        BOTH,
    ),
    Case(
        "answers of a form",
        Grid(
            [
                "Timestamp",
                "Email Address",
                "Which student do you assess?",
                "How clear, overall, is the essay?\n(0 = not at all, 4 = very)",
                "How correct is it?",
            ],
            [
                [f"2026-06-01 10:{n:02}:00", f"{r.lower()}@school.org", s, c, t]
                for n, (s, r, c, t) in enumerate(by_item(BOTH).rows)
            ],
        ),
        sorted(
            (
                s,
                f"{r.lower()}@school.org",
                {
                    "content": "How clear, overall, is the essay?\n(0 = not at all, 4 = very)",
                    "style": "How correct is it?",
                }[i],
                y,
            )
            for s, r, i, y in BOTH
        ),
        changes=False,
    ),
    Case(
        "raters beside an item column",
        Grid(
            ["student", "task", *RATERS],
            [
                [s, i, *({(a, b, c): y for a, b, c, y in BOTH}[s, r, i] for r in RATERS)]
                for s in STUDENTS
                for i in ITEMS
            ],
            {"student": "student", "task": "item"},
        ),
        BOTH,
    ),
    Case("a column per rater, good and bad", by_rater(PASS, "essay_id", words("bad", "good")), PASS),
    Case("a column per rater, grades", by_rater(ONE, "Student", words("F", "D", "C", "B", "A")), ONE),
    Case(
        "a column per rater, decimal commas",
        by_rater(ONE, "Schüler", lambda y: f"{y / 2}".replace(".", ","), separator=";"),
        ONE,
    ),
    Case(
        "a mean in the last column",
        by_rater(ONE).with_column(
            "Mean", [round(sum(y for t, _, _, y in ONE if t == s) / 3, 2) for s in STUDENTS]
        ),
        ONE,
    ),
]


def sheets(*names_and_cells: tuple[str, Grid]) -> Callable[[Path], None]:
    return lambda path: workbook(path, {name: grid.cells() for name, grid in names_and_cells})


def of_rater(rater: str, rows: Rows, **more: Any) -> Grid:
    """One rater's sheet."""
    items = list(dict.fromkeys(i for _, _, i, _ in rows))
    known = {(s, i): y for s, r, i, y in rows if r == rater}
    named = ["Student", *(["Score"] if items == [ALL] else items)]
    return Grid(named, [[s, *(known[s, i] for i in items)] for s in STUDENTS], **more)


BOOKS = [
    Case("a workbook", long(BOTH), BOTH, "file.xlsx"),
    Case(
        "a workbook with a title", long(BOTH, above=[["Marks of June"], []]), BOTH, "file.xlsx", changes=False
    ),
    Case("a sheet per rater", sheets(*((r, of_rater(r, BOTH)) for r in RATERS)), BOTH, "file.xlsx"),
    Case("a sheet per rater, one score", sheets(*((r, of_rater(r, ONE)) for r in RATERS)), ONE, "file.xlsx"),
    Case(
        "a sheet per rater and one of means",
        sheets(*((r, of_rater(r, BOTH)) for r in RATERS), ("Average", of_rater("Ann", BOTH))),
        BOTH,
        "file.xlsx",
    ),
    Case(
        "a cover sheet first",
        sheets(("Read me", Grid(["About", "this file"], [["made", "in June"]])), ("Data", long(BOTH))),
        BOTH,
        "file.xlsx",
    ),
    Case("two header rows in a workbook", WIDE[12].make, BOTH, "file.xlsx", changes=False),
    Case(
        "a sheet per criterion",
        sheets(
            *(
                (
                    i,
                    Grid(
                        ["Student", *RATERS],
                        [[s, *(marks(n, r, place) for r in (0, 1, 2))] for n, s in enumerate(STUDENTS)],
                    ),
                )
                for place, i in enumerate(ITEMS)
            )
        ),
        BOTH,
        "file.xlsx",
    ),
    Case(
        "a mean below in a workbook", by_rater(ONE, below=[["Mittelwert", 2.1, 1.9, 2.0]]), ONE, "file.xlsx"
    ),
]

QUESTIONS = [
    Case(
        "per cent",
        long(ONE, ("student", "rater", "score"), lambda y: f"{25 * y} %"),
        ONE,
    ),
    Case(
        "marks out of 100",
        Grid(
            ["student", "rater", "score"],
            [[s, r, 20 * y + (3 * n) % 20] for n, (s, r, _, y) in enumerate(ONE)],
            {"student": "student", "rater": "rater", "score": "score"},
        ),
        [(s, r, i, 20 * y + (3 * n) % 20) for n, (s, r, i, y) in enumerate(ONE)],
        changes=False,
    ),
    Case(
        "probabilities",
        Grid(
            ["id", "judge", "score"],
            [[s, r, round(0.2 * y + 0.01 * (n % 17), 2)] for n, (s, r, _, y) in enumerate(ONE)],
            {"judge": "rater", "score": "score"},
        ),
        [(s, r, i, 20 * y + n % 17) for n, (s, r, i, y) in enumerate(ONE)],
        changes=False,
    ),
    Case(
        "99 for missing",
        Grid(
            ["student", "rater", "score"],
            [[s, r, y] for s, r, _, y in ONE] + [["S01", "Dora", 99], ["S02", "Dora", 99]],
            {"student": "student", "rater": "rater", "score": "score"},
        ),
        ONE,
        asks=True,
    ),
    Case(
        "school grades of which 1 is the best",
        long(ONE, ("Schüler", "Lehrer", "Note"), lambda y: 6 - y, separator=";"),
        ONE,
        asks=True,
        changes=False,
    ),
    Case(
        "rater or item",
        by_both(truth(raters=["Kim", "Lee"], items=["North", "South"]), "{rater}_{item}"),
        truth(raters=["Kim", "Lee"], items=["North", "South"]),
        asks=True,
    ),
    Case(
        "answers of several models",
        Grid(
            ["question_id", "model", "judge", "score"],
            [
                [s, m, r, verdicts(n, k, j)]
                for n, s in enumerate(STUDENTS)
                for k, m in enumerate(("alpha", "beta"))
                for j, r in enumerate(JUDGES)
            ],
        ),
        sorted(
            (f"{s}:{m}", r, ALL, verdicts(n, k, j))
            for n, s in enumerate(STUDENTS)
            for k, m in enumerate(("alpha", "beta"))
            for j, r in enumerate(JUDGES)
        ),
        asks=True,
        changes=False,
    ),
    Case(
        "classes on sheets of their own",
        sheets(
            *((f"Class {c}", long([row for row in BOTH if (row[0] <= "S06") == (c == "A")])) for c in "AB")
        ),
        BOTH,
        "file.xlsx",
        asks=True,
    ),
    Case("pictures", long(PASS, ("picture", "worker", "says_duck")), PASS, asks=True, changes=False),
    Case("names that say nothing", long(ONE, ("a", "b", "c")), ONE, asks=True, changes=False),
    Case(
        "words of both kinds", long(PASS, ("student", "rater", "score"), words("bad", "satisfactory")), PASS
    ),
]

CASES = [
    *LONG,
    *SCORES,
    *WIDE,
    *BOOKS,
    *QUESTIONS,
    *(Case(name, make, rows, file) for name, make, rows, file in exports.EXPORTS),
]
