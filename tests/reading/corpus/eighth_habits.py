"""Files whose columns and rows say what others have said already, or leave open who judged whom."""

from tests.reading.corpus.habits import (
    ANSWERS,
    DOUBLE,
    DOUBLED,
    GOLD,
    JUDGED,
    JUDGES,
    MARKERS,
    PANEL,
    SCRIPTS,
    Habit,
    agreed,
    csv_file,
    double,
    score,
    verdict,
)

WORDS = ["неуд.", "удовл.", "хорошо", "отлично"]
PEERS = ["Aino", "Bela", "Chidi", "Dalia", "Emre", "Freya", "Goro", "Hana", "Ines", "Jonas"]
MATRIX = [[score(n, k % 5, k, top=9) if n != k else "" for k in range(10)] for n in range(10)]
FINE = [[10 + score(n, r, top=9) / 2 for r in range(5)] for n in range(len(SCRIPTS))]

EIGHTH = [
    Habit(
        "what two markers agreed on, in a row of its own",
        csv_file(
            ["candidate", "marker", "mark"],
            [
                row
                for n, (s, a, b) in enumerate(DOUBLE)
                for row in (
                    [s, MARKERS[a], score(n, a)],
                    [s, MARKERS[b], score(n, b)],
                    [s, "Consensus", agreed(score(n, a), score(n, b))],
                )
            ],
        ),
        DOUBLED,
    ),
    Habit(
        "the highest and the lowest mark beside those of five",
        csv_file(
            ["candidate", *(f"Judge {r + 1}" for r in range(5)), "best of all", "worst of all"],
            [[s, *marks, max(marks), min(marks)] for s, marks in zip(SCRIPTS, FINE, strict=True)],
        ),
        sorted(
            (s, f"Judge {r + 1}", "all", round(2 * marks[r]))
            for s, marks in zip(SCRIPTS, FINE, strict=True)
            for r in range(5)
        ),
    ),
    Habit(
        "the majority beside three annotators",
        csv_file(
            ["comment_id", "annotator1", "annotator2", "annotator3", "majority"],
            [
                [a, *votes, int(sum(votes) > 1)]
                for n, a in enumerate(ANSWERS)
                for votes in [[verdict(n, j) for j in range(3)]]
            ],
        ),
        sorted(
            (a, f"annotator{j + 1}", "all", verdict(n, j)) for n, a in enumerate(ANSWERS) for j in range(3)
        ),
    ),
    Habit(
        "judges and the truth with one ending",
        csv_file(
            ["example_id", *(f"{j}_correct" for j in JUDGES), "gold_correct"],
            [[a, *(verdict(n, j) for j in range(3)), GOLD[a]] for n, a in enumerate(ANSWERS)],
        ),
        JUDGED,
    ),
    Habit(
        "Russian grades in words, a column per member of the commission",
        csv_file(
            ["Студент", "Гончар А.В.", "Мельник О.П.", "Седых И.Н."],
            [[s, *(WORDS[score(n, r, top=3)] for r in range(3))] for n, s in enumerate(SCRIPTS)],
        ),
        sorted(
            (s, name, "all", score(n, r, top=3))
            for n, s in enumerate(SCRIPTS)
            for r, name in enumerate(("Гончар А.В.", "Мельник О.П.", "Седых И.Н."))
        ),
    ),
    Habit(
        "zeros below the lowest score that the headings state",
        csv_file(
            ["student", "judge", "Idea (1-6)", "Style (1-6)"],
            [
                [s, MARKERS[r], *(0 if (n + r + i) % 11 == 0 else 1 + score(n, r, i) for i in (0, 1))]
                for n, (s, *two) in enumerate(DOUBLE)
                for r in two
            ],
        ),
        sorted(
            (s, MARKERS[r], item, 1 + score(n, r, i))
            for n, (s, *two) in enumerate(DOUBLE)
            for r in two
            for i, item in enumerate(("Idea (1-6)", "Style (1-6)"))
            if (n + r + i) % 11
        ),
        asks=True,
    ),
    Habit(
        "peers in rows and columns",
        csv_file(["week 9", *PEERS], [[name, *row] for name, row in zip(PEERS, MATRIX, strict=True)]),
        sorted(
            (PEERS[k], PEERS[n], "all", mark)
            for n, row in enumerate(MATRIX)
            for k, mark in enumerate(row)
            if isinstance(mark, int)
        ),
        asks=True,
        answer={"wide": "{student}", "rater": "week 9", "student": None},
    ),
    Habit(
        "scores by model, which may be who judged or who is judged",
        csv_file(
            ["sample_id", "model", "temperature", "score", "latency"],
            [
                [a, j, 0, verdict(n, k), 4.5 + 0.01 * n]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        JUDGED,
        asks=True,
    ),
    Habit(
        "Arabic of Windows",
        csv_file(
            ["رقم الطالب", "الاسم", "المصحح 1", "العلامة 1", "المصحح 2", "العلامة 2"],
            double(lambda s, a, x, b, y: [s, "عمر المصري", MARKERS[a], x, MARKERS[b], y]),
            encoding="cp1256",
        ),
        DOUBLED,
    ),
    Habit(
        "a person's name in two columns, and no heading that says who it is of",
        csv_file(
            ["register", "Vorname", "Nachname", *MARKERS],
            [
                [s, "ABCD"[n % 4] * 3, "STUVW"[n % 5] * 4, *(score(n, r) for r in range(5))]
                for n, s in enumerate(SCRIPTS)
            ],
        ),
        PANEL,
    ),
    Habit(
        "reviewers who say how sure they are",
        csv_file(
            ["submission", "member", "overall evaluation", "reviewer confidence", "attachment?"],
            [
                [s, MARKERS[r], score(n, r) - 2, 1 + (n + r) % 5, ["no", "yes"][n * r % 3 > 1]]
                for n, (s, *two) in enumerate(DOUBLE)
                for r in two
            ],
        ),
        sorted((s, m, item, y + 1) for s, m, item, y in DOUBLED),
        asks=True,
    ),
    Habit(
        "words that belong to the case beside the score",
        csv_file(
            ["case_no", "reader", "body_site", "rating"],
            [
                [s, MARKERS[r], ["arm", "leg", "face"][n % 3], score(n, r)]
                for n, (s, *two) in enumerate(DOUBLE)
                for r in two
            ],
        ),
        DOUBLED,
    ),
]
