"""A feed and a page in G1's formats; one real feed from the shared corpus."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources import g1

SOURCE = Source(
    source_id="vila/1",
    desk="g1",
    agency="vila",
    kind="g1",
    url="https://g1.globo.com/rss/g1/vila/",
    timezone="America/Sao_Paulo",
    language="pt-BR",
)
LEAD = (
    "A prefeitura da vila abriu nesta terça-feira (3) a nova ponte sobre o rio, depois de dois anos de obras e de três "
    "adiamentos, e espera reduzir pela metade o tempo de viagem até o centro."
)
SECOND = "Segundo a secretária de Obras, a ponte velha será usada só por pedestres e ciclistas."

FEED = f"""<?xml version='1.0' encoding='UTF-8'?>
<rss xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/" version="2.0"><channel>
<title>g1 &gt; Vila</title><link>https://g1.globo.com/vila/</link><language>pt-BR</language>
<item><title>Ponte antiga fecha</title><link>https://g1.globo.com/vila/noticia/2026/11/02/fecha.ghtml</link>
  <guid isPermaLink="true">https://g1.globo.com/vila/noticia/2026/11/02/fecha.ghtml</guid>
  <description>{LEAD}
{SECOND}</description><category>G1</category><pubDate>Mon, 02 Nov 2026 19:36:26 -0000</pubDate></item>
<item><title>Ponte nova abre</title><atom:subtitle>Obra levou dois anos &amp; atrasou.</atom:subtitle>
  <link>https://g1.globo.com/vila/noticia/2026/11/03/abre.ghtml</link>
  <guid isPermaLink="true">https://g1.globo.com/vila/noticia/2026/11/03/abre.ghtml</guid>
  <description> <![CDATA[ <img src="https://s2.example/ponte.jpg" onload="x()" /><br /> ]]>   Ponte nova vista do alto
Ana Lima/Prefeitura da Vila
{LEAD}
Leia mais &lt;script&gt;y()&lt;/script&gt;
{SECOND}  </description>
  <media:content url="https://s2.example/ponte.jpg" medium="image"/>
  <category>G1</category><pubDate>Tue, 03 Nov 2026 19:36:26 -0000</pubDate></item>
</channel></rss>"""

NEW = ListedEntry(
    entry_id="https://g1.globo.com/vila/noticia/2026/11/03/abre.ghtml",
    url="https://g1.globo.com/vila/noticia/2026/11/03/abre.ghtml",
    title="Ponte nova abre",
    summary="Obra levou dois anos & atrasou.",
    content_html='<figure><img src="https://s2.example/ponte.jpg"><figcaption>Ponte nova vista do alto – Ana '
    f"Lima/Prefeitura da Vila</figcaption></figure><p>{LEAD}</p><p>Leia mais </p><p>{SECOND}</p>",
    categories=("G1",),
    image_url="https://s2.example/ponte.jpg",
    published_at=datetime(2026, 11, 3, 19, 36, 26, tzinfo=UTC),
)
OLD = ListedEntry(
    entry_id="https://g1.globo.com/vila/noticia/2026/11/02/fecha.ghtml",
    url="https://g1.globo.com/vila/noticia/2026/11/02/fecha.ghtml",
    title="Ponte antiga fecha",
    summary=LEAD,
    content_html=f"<p>{LEAD}</p><p>{SECOND}</p>",
    categories=("G1",),
    published_at=datetime(2026, 11, 2, 19, 36, 26, tzinfo=UTC),
)

PAGE = """<!DOCTYPE html><html lang="pt-br"><head><title>Vila | G1</title></head><body>
<div class="bastian-page"><div class="bastian-feed-item"><div class="feed-post bstn-item-shape type-materia">
  <div class="feed-post-body"><span class="feed-post-header-chapeu">Trânsito</span>
  <div class="feed-post-body-title"><h2><a class="feed-post-link gui-color-primary"
    href="https://g1.globo.com/vila/noticia/2026/11/03/abre.ghtml"><p>Ponte nova &lt;abre&gt; &amp; anima</p></a></h2>
  </div>
  <div class="feed-post-body-resumo"><p>Obra levou dois anos.</p></div>
  <div class="feed-media-wrapper"><a class="feed-post-figure-link" href="#"><picture>
    <source srcset="https://s2.example/p-300.jpg 300w, https://s2.example/p-600.jpg 600w">
    <img class="bstn-fd-picture-image" alt="Ponte" loading="lazy"></picture></a></div>
  <div class="feed-post-metadata"><span class="feed-post-datetime">Há 2 horas</span>
    <span class="feed-post-metadata-section"> Vila </span></div>
  <div class="bstn-related"><a class="feed-post-body-title bstn-relatedtext" href="/outra.ghtml">Outra</a>
    <div class="feed-post-metadata"><span class="feed-post-datetime">03/11/2026 08h00</span></div></div>
  </div></div></div>
<div class="feed-post type-agrupador"><h2><a class="feed-post-link"><p>Só um título</p></a></h2></div>
<div class="feed-post"><a href="/vila/noticia/2026/11/02/fecha.ghtml"><h2 class="feed-post-link">Ponte antiga fecha</h2>
  <img src="/i.jpg"></a><span class="feed-post-datetime">02/11/2026 16h36</span></div>
<div class="feed-post"><a class="feed-post-link" href="/vila/noticia/2026/11/02/fecha.ghtml">Outra vez</a></div>
</div><div class="load-more"><a href="/vila/index/feed/pagina-2.ghtml">Veja mais</a></div></body></html>"""

SAMPLES = {"feed": FEED, "page": PAGE}


def page(body: bytes | str, url: str = SOURCE.url) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    return Page(
        url=url,
        final_url=url,
        status=200,
        body=raw,
        fetched_at=datetime(2026, 11, 5, tzinfo=UTC),
    )


def listing(body: bytes | str, url: str = SOURCE.url) -> Listing:
    return g1.parse(page(body, url), SOURCE)


def test_a_feed_gives_full_texts_with_their_lines_as_paragraphs() -> None:
    assert listing(FEED) == Listing(
        title="g1 > Vila", language="pt-BR", entries=(NEW, OLD)
    )


def test_a_caption_is_never_the_summary() -> None:
    caption = "A ponte nova, vista do alto na manhã desta terça-feira, antes da abertura, quando ainda faltava a pintura."
    body = (
        FEED.replace("Ponte nova vista do alto", caption)
        .replace("<atom:subtitle>", "<x>")
        .replace("</atom:subtitle>", "</x>")
    )
    assert listing(body).entries[0].summary == LEAD


def test_a_description_with_markup_is_kept() -> None:
    body = FEED.replace(
        f"{LEAD}\n{SECOND}</description>",
        f"&lt;h2&gt;T&lt;/h2&gt;&lt;p&gt;\n{LEAD}&lt;/p&gt;</description>",
    )
    assert listing(body).entries[1].content_html == f"<h2>T</h2><p>\n{LEAD}</p>"


def test_a_short_description_is_a_summary_only() -> None:
    body = FEED.replace(
        f"{LEAD}\n{SECOND}</description>", "Veja o vídeo.</description>"
    )
    assert listing(body).entries[1] == replace(
        OLD, summary="Veja o vídeo.", content_html=None
    )


def test_a_truncated_feed_gives_its_whole_items() -> None:
    found = listing(FEED[: FEED.index("Ana Lima")])
    assert (found.entries, found.is_whole) == ((OLD,), False)


def test_relative_times_of_a_page_are_ignored() -> None:
    assert listing(PAGE, "https://g1.globo.com/vila/") == Listing(
        title="Vila | G1",
        language="pt-BR",
        next_urls=("https://g1.globo.com/vila/index/feed/pagina-2.ghtml",),
        problems=("1 of 2 entries have no readable date",),
        entries=(
            ListedEntry(
                entry_id=NEW.url,
                url=NEW.url,
                title="Ponte nova <abre> & anima",
                summary="Obra levou dois anos.",
                categories=("Vila",),
                image_url="https://s2.example/p-300.jpg",
            ),
            ListedEntry(
                entry_id=OLD.url,
                url=OLD.url,
                title="Ponte antiga fecha",
                image_url="https://g1.globo.com/i.jpg",
                published_at=datetime(2026, 11, 2, 19, 36, tzinfo=UTC),
            ),
        ),
    )


def test_the_last_page_has_no_next_url() -> None:
    assert (
        listing(PAGE, "https://g1.globo.com/vila/index/feed/pagina-2.ghtml").next_urls
        == ()
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            PAGE.replace("feed-post", "card"),
            'an HTML page of no known kind, titled "Vila | G1"',
        ),
        (
            '<html><div class="feed-post"><a class="feed-post-link">x</a></div></html>',
            "looks like G1",
        ),
        ("<html><form><input type=password></form></html>", "looks like a log-in page"),
        ("<urlset><url/></urlset>", "looks like a sitemap: use kind sitemap"),
        ('{"items": []}', "JSON of no known kind"),
        ("words", "plain text of no known kind"),
    ],
)
def test_any_other_document_is_a_changed_listing_and_named(
    body: str, reason: str
) -> None:
    with pytest.raises(ListingChangedError) as caught:
        listing(body)
    assert str(caught.value).startswith(f"{SOURCE.url}: no G1 items (div.feed-post): ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("body", ["", " \n"])
def test_an_empty_document_is_an_error(body: str) -> None:
    with pytest.raises(SourceError, match="an empty document"):
        listing(body)


@given(st.sampled_from(sorted(SAMPLES)), st.binary(max_size=200), st.integers(0, 3000))
def test_any_bytes_give_a_listing_or_a_source_error(
    name: str, noise: bytes, at: int
) -> None:
    body = SAMPLES[name].encode()
    for document in (noise, body[:at] + noise + body[at:], body[:at]):
        try:
            found = listing(document)
        except NewsAssetsError as error:
            assert SOURCE.url in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert found == listing(document)
            assert all(
                entry.url.startswith(("http://", "https://")) and entry.title != ""
                for entry in found.entries
            )


def test_every_article_of_a_real_feed_has_its_text_and_a_summary(shared: Path) -> None:
    body = (shared / "corpus/feeds_brazil/dev/g1_politica.xml").read_bytes()
    entries = listing(body).entries
    assert len(entries) == 100
    assert all(
        entry.content_html and entry.content_html.count("<p>") >= 4 for entry in entries
    )
    assert all(entry.summary and 40 <= len(entry.summary) <= 500 for entry in entries)
