"""The tables that `make bench` prints and writes: what failed has its row, beside what did not."""

from benchmarks.speed.page import console, markdown

RAN = {
    "fit_wall": 2.0,
    "fit_cpu": 2.0,
    "process_wall": 3.0,
    "process_cpu": 3.0,
    "memory": 100.0,
    "loglik": -12.345,
}
CASE = {
    "size": "7 ratings",
    "programs": {
        "mirt tfm": RAN,
        "glmmTMB tfm": {**RAN, "fit_wall": 4.0, "of": "Laplace"},
        "lme4 tfm": {"failed": "timed out after 5 s"},
    },
    "machine": {"load": 1.0, "cores": 2, "cpu": "a processor", "system": "Linux"},
}


def test_a_program_that_failed_is_shown_as_it_failed():
    head, peer, laplace, failed = console(CASE).splitlines()[1:]
    assert peer.split()[-3:] == ["-12.35", "1.0", "1.0"]
    assert laplace.split()[-4:] == ["-12.35", "(Laplace)", "0.5", "1.0"]
    assert failed.split() == ["lme4", "tfm", "timed", "out", "after", "5", "s"]
    assert len(head) == len(failed)


def test_rows_of_the_page_have_as_many_cells_as_the_head():
    bound = {"design": "a design", "operations": 10, "least": 1e-3, "taken": 2e-3, "ratio": 2.0}
    page = markdown({"cases": {"7": CASE}, "bound": bound, "versions": {"R": "4.2.2"}})
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(CASE["programs"])
    assert len({row.count("|") for row in rows}) == 1
