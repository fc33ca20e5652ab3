"""An invented study as a control file, in parts, and its ratings; anchors written into a file."""

from pathlib import Path

import raterlens as rl

HEAD = """; An invented study.
Title = Essays of a summer school
Facets = 3                ; pupils, readers, criteria
Inter-rater = 2
Positive = 1
Non-centered = 1
Arrange = m, 2N
"""
LABELS = """Labels =
1, Pupils
1 = Ida
2 = Jo
3 = Kai
*
2, Readers
1 = Ann
2 = Bob
*
3, Criteria
1 = style
2 = plot
3 = grammar
*
"""
MODEL = "Models = ?,?,?,R3\n"
DATA = """Data =
1,1,1-3,2,3,1
2,1,1-3,0,1,2
3,2,1-3,3,3,0
1,2,2,1
"""
ROWS = [
    *[("Ida", "Ann", c, s) for c, s in zip(("style", "plot", "grammar"), (2, 3, 1), strict=True)],
    *[("Jo", "Ann", c, s) for c, s in zip(("style", "plot", "grammar"), (0, 1, 2), strict=True)],
    *[("Kai", "Bob", c, s) for c, s in zip(("style", "plot", "grammar"), (3, 3, 0), strict=True)],
    ("Ida", "Bob", "plot", 1),
]


def rows(ratings: rl.Ratings) -> list[tuple[str, str, str, int]]:
    return sorted(ratings.table().select("student", "rater", "item", "score").rows())


def write(folder: Path, text: str, name: str = "study.txt") -> Path:
    (folder / name).write_text(text)
    return folder / name


ANCHORS = {"R1": 0.6, "R2": -0.4, "R3": 0.1, "R4": -0.9, "R5": 0.6}


def anchored(path: Path, facet: str, measures: dict[str, float]) -> None:
    """Mark a facet as anchored and give its elements their measures."""
    lines, inside = [], False
    for line in path.read_text().splitlines():
        if line.endswith(f", {facet}"):
            line, inside = f"{line}, A", True
        elif line == "*":
            inside = False
        elif inside:
            line += f", {measures[line.split(' = ')[1]]}"
        lines.append(line)
    path.write_text("\n".join(lines))
