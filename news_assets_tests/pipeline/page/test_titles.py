"""The title of an article is its headline, never the name of the site."""

import pytest

from news_assets.pipeline.page.extract import page_tree
from news_assets.pipeline.page.page_metadata import read_metadata
from news_assets_tests.pipeline.page.samples import FIRST, SECOND, html, page

HEADLINE = "Assembleia homenageia professores em sessão solene"
SITE = "Tribunal de Contas do Estado do Tocantins"
BODY = f"<p>{FIRST} {FIRST}</p><p>{SECOND}</p>"
HOME = f'<h1><a href="/">{SITE}</a></h1>'


def title_of(
    head: str,
    body: str,
    url: str = "https://www.example.org/n?id=7",
    listed: str | None = None,
) -> str | None:
    found = page(html(body, head), final_url=url)
    tree = page_tree(found)
    assert tree is not None
    return read_metadata(tree, url, "UTC", found.fetched_at, listed).title


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"<title>{HEADLINE} — {SITE}</title>", f"{HOME}<h2>{HEADLINE}</h2>"),
        (f"<title>{SITE} - {HEADLINE}</title>", f"{HOME}<h4>{HEADLINE}</h4>"),
        (
            f"<title>{HEADLINE} — {SITE}</title>",
            f'<a href="/"><img alt="{SITE}"></a><h1>{SITE}</h1>',
        ),
        (
            f'<title>{SITE}</title><meta property="og:title" content="{HEADLINE}">',
            f"<h1>{SITE}</h1>",
        ),
        (f"<title>{SITE}</title>", f"<h1>Notícias</h1><h2>{HEADLINE}</h2>"),
        (
            f"<title>{SITE}</title>",
            f"<form><h3>{HEADLINE}</h3>{BODY}</form><h2>Siga a gente nas redes</h2>",
        ),
        (
            f"<title>{HEADLINE}. OAB - ES</title>",
            f'<div class="title">{HEADLINE}</div>',
        ),
        (f"<title>{SITE}</title>", f"<h2>25/10/2016 - {HEADLINE}</h2>"),
    ],
    ids=["h2", "h4", "logo", "og:title", "unconfirmed", "form", "class", "date before"],
)
def test_the_name_of_the_site_is_not_the_title(head: str, body: str) -> None:
    assert title_of(head, body + BODY) == HEADLINE


def test_a_page_with_only_the_name_of_the_site_has_no_title() -> None:
    assert title_of(f"<title>{SITE}</title>", HOME + BODY) is None


def test_a_heading_worded_otherwise_precedes_the_title_for_sharing_in_a_list() -> None:
    head = '<title>Obra da ponte começa</title><meta property="og:title" content="Ponte sai do papel depois de anos">'
    body = "<h1>Obra da ponte começa em março</h1><h3>Ponte sai do papel depois de anos</h3>"
    assert title_of(head, body + BODY) == "Obra da ponte começa em março"


@pytest.mark.parametrize(
    "other",
    [f"<nav><h2>{HEADLINE}</h2></nav>", f'<h2><a href="/other">{HEADLINE}</a></h2>'],
    ids=["menu", "link to another page"],
)
def test_a_heading_of_another_page_is_not_the_title(other: str) -> None:
    head = "<title>Obra da ponte começa em março</title>"
    assert title_of(head, other + BODY) == "Obra da ponte começa em março"


@pytest.mark.parametrize(
    ("listed", "title"),
    [(HEADLINE, HEADLINE), ("Clique e leia o texto todo", SITE), (None, SITE)],
    ids=["shown on the page", "not shown", "not listed"],
)
def test_the_listed_title_is_taken_where_the_page_shows_it(
    listed: str | None, title: str
) -> None:
    head = f'<title>{SITE}</title><meta property="og:title" content="{SITE}">'
    assert (
        title_of(head, f"<h1>{SITE}</h1><b>{HEADLINE}</b>{BODY}", listed=listed)
        == title
    )


@pytest.mark.parametrize(
    "line", [f"<td>{HEADLINE}</td>", f"<center><b><font>{HEADLINE}</font></b></center>"]
)
def test_a_page_without_headings_is_named_by_the_line_above_its_text(line: str) -> None:
    menu = '<a href="/contas">Contas públicas do estado e dos municípios</a>'
    assert (
        title_of(f"<title>{SITE}</title>", f"{menu}{line}<div>25/10/2016</div>{BODY}")
        == HEADLINE
    )
