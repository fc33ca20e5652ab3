"""Words of the file in place of its codes, except for scores."""

from pathlib import Path

import pandas as pd
import pyreadstat

from raterlens.reading.reader import read


def test_value_labels_name_people_and_scores_stay_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"student": [1.0, 2, 3], "rater": [1.0, 2, 7], "score": [0.0, 1, 9]})
    words = {"rater": {1: "Ann", 2: "Bob"}, "score": {0: "fail", 1: "pass", 9: "absent"}}
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels=words, missing_ranges={"score": [9]}
    )
    ratings = read(tmp_path / "x.sav")
    assert ratings.raters.to_list() == ["Ann", "Bob"]
    assert ratings.students.to_list() == [1, 2]
    assert ratings.score.tolist() == [0, 1]
    assert "1 of 3 ratings left out: no score" in ratings.notes
    assert "column 'rater': value labels of the file are used ('1 = Ann', '2 = Bob')" in ratings.notes

    pyreadstat.write_dta(frame.replace(9, 2), tmp_path / "x.dta", variable_value_labels=words)
    assert read(tmp_path / "x.dta").raters.to_list() == ["7", "Ann", "Bob"]


def test_two_people_with_the_same_label_stay_two(tmp_path: Path) -> None:
    frame = pd.DataFrame({"student": [1.0, 2, 3], "rater": [1.0, 2, 3], "score": [0.0, 1, 1]})
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels={"rater": {1: "Ann", 2: "Ann", 3: "Bob"}}
    )
    assert read(tmp_path / "x.sav").raters.to_list() == ["Ann (1)", "Ann (2)", "Bob"]
