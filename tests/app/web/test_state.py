"""Visitors and what is theirs."""

from tests.support.web_clients import LONG, ORIGIN, send, visiting


def test_a_table_belongs_to_one_visitor() -> None:
    with visiting() as client:
        sent = send(client, LONG)
        where = sent.headers["location"]
        cookie = sent.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get(where).status_code == 200
        client.cookies.clear()
        gone = client.get(where)
        assert gone.status_code == 404
        assert "This table is no longer here" in gone.text
        assert client.post(f"{where}/remove", headers=ORIGIN).status_code == 404
