"""One running app for all tests that need no settings of their own: its workers take a second to start."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.web_clients import visiting


@pytest.fixture(scope="session")
def app_client() -> Iterator[TestClient]:
    with visiting() as client:
        yield client


@pytest.fixture
def visitor(app_client: TestClient) -> TestClient:
    """A new visitor: without the cookies of the last one."""
    app_client.cookies.clear()
    return app_client
