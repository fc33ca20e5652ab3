"""Anchors, through JSON and back."""

import json
from dataclasses import asdict

import pytest

from raterlens.config import Anchors, EarlierScale


@pytest.mark.parametrize("earlier", [None, EarlierScale((0, 1, 2), 1.5, -0.25, "standard")])
def test_anchors_survive_json(earlier):
    anchors = Anchors(raters={"AM": (None, 0.5)}, facets={"topic": {"sport": 0.1}}, earlier=earlier)
    again = Anchors.from_plain(json.loads(json.dumps(asdict(anchors))))
    assert again == anchors
    assert again.raters["AM"] == (None, 0.5)
