"""Every chart for every kind of fit."""

from xml.etree import ElementTree

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.pictures.style import PALETTE
from tests.support.chart_cases import DRAWINGS

LATENT_CHARTS = ("capability", "severity", "network")


def test_every_public_chart_is_drawn_here():
    assert set(DRAWINGS) == set(rl.charts.__all__) - {"save", "svg"}


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("kind", ["example", "hrm", "ordered"])
def test_every_chart_compiles_for_every_kind_of_fit_or_says_which_does(name, kind, request):
    case = request.getfixturevalue(kind)
    if kind == "hrm" and name not in LATENT_CHARTS:
        with pytest.raises(
            OptionError,
            match=rf"{name}.* no meaning for model 'hrm': .* use the chart '(capability|severity)'",
        ):
            DRAWINGS[name](case, 640)
        return
    width = 380 if kind == "ordered" else 640
    chart = DRAWINGS[name](case, width)
    root = ElementTree.fromstring(rl.charts.svg(chart))
    assert abs(float(root.get("width")) - width) <= 0.02 * width
    paints = {element.get(paint) for element in root.iter() for paint in ("fill", "stroke")} - {None, "none"}
    assert paints <= {f"var(--{role})" for role in PALETTE}
    assert len(list(root.iter())) > 20
    if kind == "example":
        chart.to_dict(validate=True)
