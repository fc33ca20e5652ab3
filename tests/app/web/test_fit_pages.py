"""From a form to what is fitted, and from a fault back to the field."""

import pytest
from starlette.testclient import TestClient

from raterlens.app.web.fit_pages import chosen_config, chosen_decisions
from raterlens.app.web.refusals import RefusedError
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from tests.support.web_clients import LONG, ORIGIN, send

ROLES = {f"role-{place}": role for place, role in enumerate(("student", "rater", "item", "score"))}


def test_a_form_asks_for_a_fit() -> None:
    form = {"model": "tfm", "method": "laplace", "link": "default", "scale": "graded", "prior": "panel"}
    assert chosen_config(form) == FitConfig(model="tfm", method="laplace", scale="graded", prior="panel")
    assert chosen_config({}) == FitConfig()
    boxes = chosen_config({"item_slopes": "yes", "interactions": "yes"})
    assert boxes == FitConfig(item_slopes=True, interactions=["rater:item"])
    for name in ("model", "method", "link"):
        with pytest.raises(OptionError, match=f"unknown {name} 'x'"):
            chosen_config({name: "x"})


def test_a_form_asks_for_decisions() -> None:
    assert chosen_decisions({}) == (None, None)
    assert chosen_decisions({"decide": " 1,2 ", "remark": "50"}) == ("1,2", 50)
    with pytest.raises(RefusedError, match="'many', is not a whole number") as refused:
        chosen_decisions({"remark": "many"})
    assert refused.value.field == "remark"


def test_a_fault_leads_back_to_the_field(visitor: TestClient) -> None:
    table = send(visitor, LONG).headers["location"]
    wrong = visitor.post(f"{table}/fits", data=ROLES | {"model": "rasch"}, headers=ORIGIN)
    assert wrong.status_code == 422
    assert 'data-field="models"' in wrong.text
    wrong = visitor.post(
        f"{table}/check", data=ROLES | {"cut": "high"}, headers=ORIGIN | {"HX-Request": "true"}
    )
    assert 'data-field="cut"' in wrong.text
    wrong = visitor.post(f"{table}/check", data=ROLES | {"role-3": "none"}, headers=ORIGIN)
    assert 'data-field="roles"' in wrong.text
    assert "No column is marked as the score" in wrong.text
