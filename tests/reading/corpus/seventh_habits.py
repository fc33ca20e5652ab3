"""Files in which only the whole table tells what a column is: who met whom, what repeats, what sums up what."""

from tests.reading.corpus.habits import (
    DOUBLE,
    DOUBLED,
    MARKERS,
    PANEL,
    SCRIPTS,
    Habit,
    Rows,
    csv_file,
    double,
    score,
)

CRITERIA = ("clarity", "delivery", "evidence")
BY_ITEM: Rows = sorted(
    (s, MARKERS[r], item, score(n, r, i))
    for n, (s, *two) in enumerate(DOUBLE)
    for r in two
    for i, item in enumerate(CRITERIA)
)
FORMS = [(n, s, r, [score(n, r, i) for i in range(3)]) for n, (s, *two) in enumerate(DOUBLE) for r in two]
LOWEST = min(score(n, r, top=10) for n in range(len(SCRIPTS)) for r in (0, 1))
EXAM = [(n, s, q) for n, s in enumerate(SCRIPTS[:12]) for q in (1, 2, 3)]


SEVENTH = [
    Habit(
        "people called by words that no list has, each before their marks",
        csv_file(
            ["candidate", "wahn", "wahn pt", "zwo", "zwo pt"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y]),
        ),
        DOUBLED,
        asks=True,
    ),
    Habit(
        "the highest mark of each question beside two readers",
        csv_file(
            ["candidate", "question", "top", "1st reader", "2nd reader"],
            [[s, q, 4 + q, score(n, 0, q), score(n, 1, q)] for n, s, q in EXAM],
        ),
        sorted(
            (s, which, str(q), score(n, r, q)) for n, s, q in EXAM for r, which in enumerate(("1st", "2nd"))
        ),
        asks=True,
    ),
    Habit(
        "a form per line, numbered, with the total of some of its marks",
        csv_file(
            ["form_id", "room", "candidate_id", "examiner_id", *CRITERIA, "total_of_all", "feedback"],
            [
                [5000 + k, "AB"[n % 2], s, MARKERS[r], *marks, sum(marks[:2]), "neat"]
                for k, (n, s, r, marks) in enumerate(FORMS)
            ],
        ),
        BY_ITEM,
    ),
    Habit(
        "comments for the student beside the number of a project",
        csv_file(
            ["Timestamp", "Email", "Judge name", "Project no", *CRITERIA, "Comments for the student"],
            [
                [
                    f"2025-05-01 10:{k % 60:02}:00",
                    f"{MARKERS[r]}@x.org",
                    MARKERS[r],
                    s,
                    *marks,
                    ["", "Good", "Go on"][k % 3],
                ]
                for k, (_, s, r, marks) in enumerate(FORMS)
            ],
        ),
        BY_ITEM,
    ),
    Habit(
        "percentages in steps of five",
        csv_file(
            ["student", "1. rater", "2. rater"],
            [[s, 40 + 5 * score(n, 0, top=10), 40 + 5 * score(n, 1, top=10)] for n, s in enumerate(SCRIPTS)],
        ),
        sorted(
            (s, str(r + 1), "all", score(n, r, top=10) - LOWEST)
            for n, s in enumerate(SCRIPTS)
            for r in (0, 1)
        ),
    ),
    Habit(
        "a subject of the essay that each student chose",
        csv_file(
            ["Prüfling", "Kurs", "Erstkorrektor", "NP Erstkorrektur", "Zweitkorrektor", "NP Zweitkorrektur"],
            double(lambda s, a, x, b, y: [s, "LK1", MARKERS[a], f"{x:02}", MARKERS[b], f"{y:02}"]),
        ),
        DOUBLED,
    ),
    Habit(
        "a class beside the raters, and a number for each row",
        csv_file(
            ["#", "name", "class", *MARKERS],
            [[n + 1, s, "8ab"[n % 3], *(score(n, r) for r in range(5))] for n, s in enumerate(SCRIPTS)],
        ),
        PANEL,
    ),
]
