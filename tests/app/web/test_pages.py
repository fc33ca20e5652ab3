"""Refusals as a page, or as a part of the page that is open."""

from starlette.testclient import TestClient

from tests.support.web_clients import ORIGIN


def test_a_refusal_is_a_page_or_a_part_of_one(visitor: TestClient) -> None:
    whole = visitor.get("/tables/<b>gone</b>")
    part = visitor.get("/tables/gone", headers={"HX-Request": "true"})
    nowhere = visitor.get("/nowhere<b>")
    sent = visitor.post("/tables", headers=ORIGIN, content=b"x")
    assert whole.status_code == part.status_code == nowhere.status_code == 404
    assert "<!doctype html>" in whole.text
    assert part.text.startswith('<p class="fault" role="alert">This table is no longer here')
    assert "<b>" not in nowhere.text
    assert sent.status_code == 400
    assert "No file was uploaded; choose one, then send it." in sent.text
