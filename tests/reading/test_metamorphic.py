"""Whatever does not change the ratings of a table does not change what is read.

Names in any of seven languages, the order of columns, a column of comments, a row of totals.
"""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from raterlens.reading.read import read
from tests.reading.corpus.cases import CASES, Case
from tests.reading.corpus.truth import Grid
from tests.support.nightly import mostly_nightly

LANGUAGES = {
    "English": ("candidate", "marker", "criterion", "score"),
    "German": ("Prüfling", "Prüfer", "Kriterium", "Punkte"),
    "French": ("étudiant", "correcteur", "critère", "points"),
    "Spanish": ("alumno", "evaluador", "pregunta", "puntuación"),
    "Italian": ("candidato", "valutatore", "domanda", "punteggio"),
    "Portuguese": ("aluno", "avaliador", "questão", "pontuação"),
    "Dutch": ("leerling", "beoordelaar", "vraag", "punten"),
}
TOTALS = ["Total", "Average", "Summe", "Moyenne", "Promedio", "Media", "Totale", "Gemiddelde"]
CHANGED = [case for case in CASES if isinstance(case.make, Grid) and case.changes and not case.asks]
SOME = mostly_nightly(CHANGED, 10)


def rows(path: Path) -> list[tuple[str, str, str, int]]:
    table = read(path).table().select("student", "rater", "item", "score").rows()
    return sorted((str(s), str(r), str(i), int(y)) for s, r, i, y in table)


def read_again(case: Case, grid: Grid, folder: Path) -> list[tuple[str, str, str, int]]:
    grid.write(folder / case.file)
    return rows(folder / case.file)


def grid_of(case: Case) -> Grid:
    assert isinstance(case.make, Grid)
    return case.make


def test_most_of_the_corpus_is_changed() -> None:
    assert len(CHANGED) >= 50


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_columns_called_in_any_language(case: Case, tmp_path: Path) -> None:
    grid = grid_of(case)
    for names in LANGUAGES.values():
        words = dict(zip(("student", "rater", "item", "score"), names, strict=True))
        if grid.encoding == "utf-8" or grid.encoding.startswith("utf-16") or all(n.isascii() for n in names):
            assert read_again(case, grid.renamed(words), tmp_path) == case.rows, names


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_columns_in_any_order(case: Case, tmp_path: Path) -> None:
    grid = grid_of(case)
    if grid.above or grid.below or grid.upper:
        pytest.skip("rows around the table have their places")
    for seed in range(3):
        order = list(range(len(grid.header)))
        Random(seed).shuffle(order)
        assert read_again(case, grid.shuffled(order), tmp_path) == case.rows, order


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_a_column_of_comments(case: Case, tmp_path: Path) -> None:
    grid = grid_of(case)
    remarks = [["well argued, if short", "", "see me"][place % 3] for place in range(len(grid.rows))]
    name = ["my comment", "Bemerkung", "what I thought"][CHANGED.index(case) % 3]
    assert read_again(case, grid.with_column(name, remarks), tmp_path) == case.rows


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_a_row_of_totals(case: Case, tmp_path: Path) -> None:
    grid, label = grid_of(case), TOTALS[CHANGED.index(case) % len(TOTALS)]
    student = next((name for name, role in grid.roles.items() if role == "student"), grid.header[0])
    if grid.below or grid.plain_below:
        pytest.skip("has one already")
    total = [label if name == student else "" for name in grid.header]
    for place, name in enumerate(grid.header):
        numbers = [row[place] for row in grid.rows if isinstance(row[place], int | float)]
        if name != student and numbers:
            total[place] = str(round(sum(numbers) / len(numbers), 2))
    assert read_again(case, replace(grid, rows=[*grid.rows, total]), tmp_path) == case.rows
