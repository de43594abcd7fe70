import pytest

from news_assets.errors import MAX_REASON_CHARS, FetchError, without_credentials


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:word@example.org/a@b", "https://example.org/a@b"),
        ("https://user@example.org", "https://example.org"),
        ("//user:wo@rd@example.org?q=//x", "//example.org?q=//x"),
        ("https:\\\\user:word@example.org", "https:\\\\example.org"),
        ("https://us\ner:word@example.org", "https://example.org"),
        (
            "https://example.org/a by me@example.org",
            "https://example.org/a by me@example.org",
        ),
        (
            "https://example.org?mail=me@example.org",
            "https://example.org?mail=me@example.org",
        ),
        (
            "redirect loop at http://u:p@a.org/ and http://u:p@b.org/",
            "redirect loop at http://a.org/ and http://b.org/",
        ),
    ],
)
def test_user_and_password_are_removed_from_addresses(text: str, expected: str) -> None:
    assert without_credentials(text) == expected


def test_a_fetch_error_is_one_short_line_without_credentials() -> None:
    error = FetchError(
        "https://user:word@example.org/",
        "redirects to //user:word@x/\x1b[31m\r\n" + "x" * 9_999,
    )
    assert error.url == "https://example.org/"
    assert str(error).startswith("https://example.org/: redirects to //x/ [31m  xxx")
    assert len(error.reason) == MAX_REASON_CHARS
