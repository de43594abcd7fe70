"""Authors that are stated for machines, and those of bylines."""

import pytest
from lxml.html import document_fromstring

from news_assets.pipeline.page.authors import authors_of


def authors(body: str) -> tuple[str, ...]:
    return authors_of(document_fromstring(f"<html><body>{body}</body></html>"), {}, {})


@pytest.mark.parametrize(
    "byline",
    [
        '<p class="byline">By Ana Lima</p>',
        '<div class="post-author"><span>Written by</span><a href="/a">Ana Lima</a> <span>3 March 2026</span></div>',
        '<a rel="author" href="/ana">Ana Lima</a>',
        '<span itemprop="author">Por Ana Lima</span>',
        '<div class="autor"><style>.a {font: "Open Sans"}</style>Ana Lima</div>',
    ],
)
def test_a_byline_names_the_author(byline: str) -> None:
    assert authors(byline) == ("Ana Lima",)


@pytest.mark.parametrize(
    "marked",
    [
        '<ul class="comments"><li><span class="comment-author">Ana Lima</span></li></ul>',
        '<div class="related"><p class="byline">By Ana Lima</p></div>',
        '<p class="author">About the author</p>',
        '<p class="byline">Published on 3 March 2026</p>',
        '<p class="author">Subscribe</p>',
    ],
)
def test_no_author_is_found_in_comments_teasers_and_captions(marked: str) -> None:
    assert authors(marked) == ()


def test_stated_authors_precede_a_byline() -> None:
    tree = document_fromstring(
        '<html><body><p class="byline">By Ana Lima</p></body></html>'
    )

    assert authors_of(tree, {"author": {"name": "Rui Costa"}}, {}) == ("Rui Costa",)
