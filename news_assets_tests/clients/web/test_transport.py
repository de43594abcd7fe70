"""Connections to private hosts, and proxies of the environment."""

import pytest

from news_assets.errors import ForbiddenAddressError
from news_assets_tests.clients.web.conftest import OpenFetcher, Site, answer, request


@pytest.mark.parametrize("allowed", [("127.0.0.1",), ("127.0.0.0/8",), ("localhost",)])
def test_a_private_host_is_fetched_if_it_is_allowed(
    site: Site, open_fetcher: OpenFetcher, allowed: tuple[str, ...]
) -> None:
    url = site.put("/a", answer(b"in")).replace("127.0.0.1", "localhost")
    assert open_fetcher(allow_private_hosts=allowed).fetch(request(url)).body == b"in"


def test_a_private_host_that_is_not_allowed_gets_no_request(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    url = site.put("/a", answer(b"in")).replace("127.0.0.1", "localhost")
    with pytest.raises(ForbiddenAddressError):
        open_fetcher(allow_private_hosts=("127.0.1.0/24", "other")).fetch(request(url))
    assert site.requests == []


def test_proxies_of_the_environment_are_not_used(
    site: Site, open_fetcher: OpenFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert open_fetcher().fetch(request(site.put("/a", answer(b"in")))).body == b"in"
