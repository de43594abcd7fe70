import httpcore
import httpx
import pytest

from news_assets.clients.web.fetch_errors import HTTPX_ERRORS, REASONS, fetch_error_of
from news_assets.clients.web.transport import _HTTPX_CLASSES

_HTTPX_EXCEPTIONS = [
    value
    for name in httpx.__all__
    if isinstance(value := getattr(httpx, name), type) and issubclass(value, Exception)
]
_HTTPCORE_EXCEPTIONS = [
    value
    for name in httpcore.__all__
    if isinstance(value := getattr(httpcore, name), type)
    and issubclass(value, Exception)
]


def test_every_exception_of_httpx_has_a_reason_and_is_caught() -> None:
    assert set(REASONS) == set(_HTTPX_EXCEPTIONS)
    assert [cls for cls in _HTTPX_EXCEPTIONS if not issubclass(cls, HTTPX_ERRORS)] == []


def test_every_exception_of_httpcore_becomes_one_of_httpx() -> None:
    assert set(_HTTPX_CLASSES) == set(_HTTPCORE_EXCEPTIONS)


@pytest.mark.parametrize(
    "cls", [httpx.ReadTimeout, httpx.ConnectError, httpx.RemoteProtocolError]
)
def test_the_nearest_class_decides_the_reason(cls: type[httpx.TransportError]) -> None:
    error = fetch_error_of("http://x/", cls("its message"))
    assert error.reason.startswith(REASONS[cls][0])
    assert (error.url, error.weight, error.is_transient) == (
        "http://x/",
        *REASONS[cls][1:],
    )
