"""Refusals as a page, or as a part of the page that is open."""

from tests.support.web_clients import ORIGIN, visiting


def test_a_refusal_is_a_page_or_a_part_of_one() -> None:
    with visiting() as client:
        whole = client.get("/tables/<b>gone</b>")
        part = client.get("/tables/gone", headers={"HX-Request": "true"})
        nowhere = client.get("/nowhere<b>")
        sent = client.post("/tables", headers=ORIGIN, content=b"x")
    assert whole.status_code == part.status_code == nowhere.status_code == 404
    assert "<!doctype html>" in whole.text
    assert part.text.startswith('<p class="fault" role="alert">This table is no longer here')
    assert "<b>" not in nowhere.text
    assert sent.status_code == 400
    assert "No file was uploaded; choose one, then send it." in sent.text
