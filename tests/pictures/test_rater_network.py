"""The network: links and groups of the design."""

import polars as pl

import raterlens as rl
from raterlens.pictures.rater_network import SINGLE, network_data


def test_links_and_groups_are_those_of_the_design():
    table = {
        "student": [1, 1, 2, 2, 3, 3, 4, 4],
        "rater": ["A", "B", "A", "B", "B", "C", "X", "Y"],
        "score": [0, 1, 1, 0, 1, 1, 0, 1],
    }
    found = network_data(rl.read(pl.DataFrame(table)))
    links = {
        (row["rater"], row["other"]): (row["students"], row["kind"] == SINGLE)
        for row in found.links.rows(named=True)
    }
    assert links == {("A", "B"): (2, False), ("B", "C"): (1, True), ("X", "Y"): (1, True)}
    assert dict(found.raters.select("rater", "group").rows()) == {"A": 1, "B": 1, "C": 1, "X": 2, "Y": 2}


def test_links_end_at_their_raters(example):
    found = network_data(example.ratings)
    at = {row["rater"]: (row["x"], row["y"]) for row in found.raters.rows(named=True)}
    for row in found.links.rows(named=True):
        assert at[row["rater"]] == (row["x"], row["y"])
        assert at[row["other"]] == (row["x2"], row["y2"])
