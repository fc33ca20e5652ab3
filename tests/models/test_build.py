import numpy as np
import pytest

from raterlens.capability.links import get_link
from raterlens.models.build import build
from raterlens.models.registry import MODELS
from raterlens.models.requested import Options
from raterlens.models.responses import Adjacent, Capped, Graded, Linked
from tests.support.facets_models import ordered


@pytest.mark.parametrize(
    ("link", "scale", "categories", "expected"),
    [
        ("logit", "rating scale", 2, Adjacent),
        ("logit", "graded", 2, Adjacent),
        ("probit", "rating scale", 2, Linked),
        ("log", "rating scale", 2, Capped),
        ("logit", "partial credit", 4, Adjacent),
        ("logit", "graded", 4, Graded),
        ("cloglog", "graded", 4, Graded),
    ],
)
def test_the_response_follows_link_scale_and_scores(small, link, scale, categories, expected):
    ratings = small if categories == 2 else ordered(small)
    model, response = build(ratings, Options(MODELS["gmf"], get_link(link), scale))
    assert isinstance(response, expected)
    assert response.n_categories == categories
    assert (model.thresholds is None) == (categories == 2)
    if model.thresholds is not None:
        assert model.thresholds.n_scales == (small.n_items if scale == "partial credit" else 1)


def test_scores_that_the_ratings_do_not_show_have_their_place(small):
    _, response = build(small, Options(MODELS["gmf"], get_link("logit")), n_categories=5)
    assert response.n_categories == 5


def test_covariates_explain_slopes_and_severities(small):
    columns = np.column_stack([np.ones(5), np.arange(5.0)])
    model, _ = build(small, Options(MODELS["gmf"], get_link("logit"), covariates=columns))
    assert model.blocks.sizes["slope"] == model.blocks.sizes["severity"] == 2
