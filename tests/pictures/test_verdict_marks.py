"""Marks: one per kind of verdict."""

from raterlens.pictures.verdict_marks import MARKS, mark


def test_marks_differ_in_name_and_shape():
    paths = [m.path for name, m in MARKS.items() if name != "unsure"]  # drawn hollow instead
    assert len(set(paths)) == len(paths)
    assert all(name == m.name for name, m in MARKS.items())
    assert mark("too severe") != mark("too lenient")
