"""One small listing per markup; the expected listing is compared whole."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.reading import ListedEntry, Listing
from news_assets.sources.html_listing_kinds import PLONE_TEMPLATES, parse_plone
from news_assets_tests.sources.page_builders import INSTEAD, html, page_of, source_of
from news_assets_tests.support.growth import grows_linearly

URL = "https://www.gov.br/mec/pt-br/assuntos/noticias"
SITE = "https://www.gov.br/mec"
SOURCE = source_of("plone_listing", URL)
PLONE = 'class="template-listing_view portaltype-collection"'


def listing(body: str, url: str = URL) -> Listing:
    return parse_plone(page_of(html(body, attributes=PLONE), url), SOURCE)


def entry(name: str, title: str, **said: object) -> ListedEntry:
    return ListedEntry(
        entry_id=f"{SITE}/{name}", url=f"{SITE}/{name}", title=title, **said
    )  # type: ignore[arg-type]


def tile(name: str, title: str, day: str = "27/02/2026", hour: str = "14h30") -> str:
    return f"""<article class="tileItem visualIEFloatFix tile-collective-nitf-content"><div class="tileContent">
      <div class="tileImage"><a href="{SITE}/{name}"><img class="tileImage" src="/mec/{name}/@@images/a.jpeg"></a></div>
      <span class="subtitle">Merenda</span>
      <h2 class="tileHeadline"><a class="summary url" href="{SITE}/{name}">{title}</a></h2>
      <p class="tileBody"><span class="description">Resumo de {name}.</span></p>
      <div class="keywords"><span><a class="link-category" rel="tag">PNAE</a></span></div></div>
      <span class="documentByLine"><span class="hiddenStructure">publicado</span>
      <span class="summary-view-icon"><i class="icon-day"></i> {day} </span>
      <span class="summary-view-icon"><i class="icon-hour"></i> {hour} </span>
      <span class="summary-view-icon"><i class="icon-news"></i> Notícia </span></span></article>"""


PHOTO_LIST = """<ul class="noticias listagem-noticias-com-foto">
  <li><div class="conteudo"><div class="subtitulo-noticia">Leilões</div>
    <h2 class="titulo"><a href="../noticias/baterias">Leilão de baterias em abril</a></h2>
    <div class="imagem"><img class="newsImage" data-src="/mec/foto/@@images/image/mini" src="data:image/gif;x"></div>
    <span class="descricao"><span class="data"> 08/09/2026 </span><span> - </span> Agência espera R$ 12,9 bi</span>
    </div></li>
  <li><div class="conteudo"><h2 class="titulo"><a href="/mec/noticias/segunda">Segunda</a></h2>
    <span class="descricao"><span class="data">07/09/2026</span></span></div></li>
</ul>"""

PLONE_5 = """<div id="content-core"><div class="entries">
  <article class="entry"><header>
    <span class="summary"><a class="contenttype-news-item url" href="/mec/a">Primeira</a></span>
    <div class="documentByLine"><span class="documentPublished">publicado 27/02/2026 14h30,</span>
    <span class="documentModified">última modificação 01/03/2026 09h05</span></div></header>
    <p class="description">Um resumo</p></article>
</div></div>"""

DIV_ITEMS = """<div id="content-core"><div class="item visualIEFloatFix">
  <h2 class="headline"><a href="/mec/a">Primeira</a></h2>
  <span class="documentPublished"><span>publicado</span> <span property="rnews:x">27/02/2026 14h30</span></span>
  <span class="documentModified"><span>última modificação</span> <span>01/03/2026 09h05</span></span>
  <p class="description">Um resumo</p></div></div>"""

AT_1430 = datetime(2026, 2, 27, 17, 30, tzinfo=UTC)
CHANGED = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
WITH_BYLINE = (
    entry(
        "a", "Primeira", summary="Um resumo", published_at=AT_1430, updated_at=CHANGED
    ),
)


def test_a_listing_of_tiles_is_read() -> None:
    body = f"""<div id="content-core">{tile("b", "Antes", "26/02/2026", "9h")}{tile("a", "Lei &amp; ordem")}</div>
      <ul class="paginacao listingBar"><li><a href="{URL}?b_start:int=60">3</a></li>
      <li><a class="proximo" href="{URL}?b_start:int=30">Próximo »</a></li></ul>"""
    said = {"categories": ("Merenda", "PNAE")}
    assert listing(body) == Listing(
        entries=(
            entry("a", "Lei & ordem", summary="Resumo de a.", image_url=f"{SITE}/a/@@images/a.jpeg",
                  published_at=AT_1430, **said),
            entry("b", "Antes", summary="Resumo de b.", image_url=f"{SITE}/b/@@images/a.jpeg",
                  published_at=datetime(2026, 2, 26, 12, tzinfo=UTC), **said),
        ),
        title="Notícias",
        language="pt-BR",
        next_urls=(f"{URL}?b_start:int=30",),
    )  # fmt: skip


def test_a_listing_with_photos_is_read() -> None:
    assert listing(PHOTO_LIST).entries == (
        ListedEntry(
            entry_id="https://www.gov.br/mec/pt-br/noticias/baterias",
            url="https://www.gov.br/mec/pt-br/noticias/baterias",
            title="Leilão de baterias em abril",
            summary="Agência espera R$ 12,9 bi",
            categories=("Leilões",),
            image_url="https://www.gov.br/mec/foto/@@images/image/mini",
            published_at=datetime(2026, 9, 8, 3, tzinfo=UTC),
        ),
        entry(
            "noticias/segunda",
            "Segunda",
            published_at=datetime(2026, 9, 7, 3, tzinfo=UTC),
        ),
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PLONE_5, WITH_BYLINE),
        (DIV_ITEMS, WITH_BYLINE),
        (  # Plone 6 without Volto states the last change only
            '<div class="entries"><article class="mb-3 row"><div class="col"><div class="mb-1">'
            '<a class="url" href="/mec/a">Primeira</a></div><div class="documentByLine">'
            '— last modified Feb 27, 2026 02:30 PM</div><p class="me-3">Um resumo</p></div></article></div>',
            (entry("a", "Primeira", summary="Um resumo", updated_at=AT_1430),),
        ),
        (  # Plone 3 and 4
            '<div id="content-core"><dl><dt><span class="summary"><a href="/mec/a">Primeira</a></span>'
            '<span class="documentByLine">27/02/2026 14h30</span></dt><dd>Um resumo</dd></dl></div>',
            (entry("a", "Primeira", published_at=AT_1430),),
        ),
        (
            '<div class="collection-item"><span class="data">27 de fevereiro de 2026 às 14h30</span>'
            '<h3><a href="/mec/a">Primeira</a></h3></div>',
            (entry("a", "Primeira", published_at=AT_1430),),
        ),
        (
            '<div class="noticias-listagem"><ul><li><h3><a href="/mec/a">Primeira</a></h3>'
            '<time datetime="2026-02-27T14:30:00-03:00">há pouco</time></li></ul></div>',
            (entry("a", "Primeira", published_at=AT_1430),),
        ),
        (
            '<div id="content-core"><article><h2><a href="/mec/a">Primeira</a></h2></article></div>',
            (entry("a", "Primeira"),),
        ),
        (
            '<div id="content-core"><ul><li><span class="summary"><a href="/mec/a">Primeira</a></span></li></ul></div>',
            (entry("a", "Primeira"),),
        ),
    ],
)  # fmt: skip
def test_each_markup_is_read_by_its_template(
    body: str, expected: tuple[ListedEntry, ...]
) -> None:
    assert listing(body).entries == expected


def test_a_date_without_time_is_midnight_in_the_source_zone() -> None:
    dated = tile("a", "Primeira", hour="")
    undated = tile("b", "Segunda", day="", hour="")
    read = listing(dated + undated)
    assert [item.published_at for item in read.entries] == [
        datetime(2026, 2, 27, 3, tzinfo=UTC),
        None,
    ]
    assert read.problems == ("1 of 2 entries have no readable date",)


def test_an_item_without_a_link_is_skipped_with_a_problem() -> None:
    teaser = '<article class="tileItem"><h2 class="tileHeadline"><a href="javascript:abre()">Chamada</a></h2></article>'
    read = listing(teaser + tile("a", "Primeira"))
    assert [item.url for item in read.entries] == [f"{SITE}/a"]
    assert read.problems == ("entry 1 has no link: skipped",)


def test_a_repeated_article_is_one_entry() -> None:
    assert [
        item.url
        for item in listing(
            tile("a", "Um") + tile("a?utm_source=x", "Um de novo")
        ).entries
    ] == [f"{SITE}/a"]


def test_the_link_title_is_the_fallback_headline() -> None:
    body = '<li class="tileItem"><p class="tileHeadline"><a title="Foto do dia" href="/mec/a"><img></a></p></li>'
    assert [item.title for item in listing(body).entries] == ["Foto do dia"]


def test_a_page_in_latin_1_keeps_its_accents() -> None:
    body = (
        html(tile("a", "Educação"))
        .replace('<meta charset="utf-8">', "")
        .encode("iso-8859-1")
    )
    assert (
        parse_plone(page_of(body, URL, "iso-8859-1"), SOURCE).entries[0].title
        == "Educação"
    )


# --- paging ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "pager", "expected"),
    [
        (URL, '<a href="?b_start%3Aint=30">2</a>', (f"{URL}?b_start%3Aint=30",)),
        (f"{URL}?b_start:int=30", f'<a href="{URL}?b_start:int=0">1</a><a href="{URL}?b_start:int=60">3</a>',
         (f"{URL}?b_start:int=60",)),
        (f"{URL}?b_start:int=60", f'<a href="{URL}?b_start:int=0">1</a><a href="{URL}?b_start:int=30">2</a>', ()),
        (URL, '<ul class="pagination"><li class="next"><a href="/mec/mais">Próximos</a></li></ul>', (f"{SITE}/mais",)),
        (f"{URL}?tag=PNAE&b_start:int=2", '<ul class="pagination"><li><span>Próximos 2 itens</span></li></ul>',
         (f"{URL}?tag=PNAE&b_start:int=4",)),
        (URL, '<a href="https://outro.example.org/?b_start:int=30">2</a>', ()),
        (URL, "", ()),
    ],
)  # fmt: skip
def test_the_next_page_is_linked_or_counted(
    url: str, pager: str, expected: tuple[str, ...]
) -> None:
    assert (
        listing(tile("a", "Um") + tile("b", "Dois") + pager, url).next_urls == expected
    )


def test_a_page_after_the_last_one_is_empty() -> None:
    behind = listing(
        "<p class='discreet'>Não existem itens nesta pasta no momento.</p>",
        f"{URL}?b_start:int=900",
    )
    assert behind == Listing(entries=(), problems=("no entries",))


# --- other documents ------------------------------------------------------------------


@pytest.mark.parametrize(("body", "reason"), INSTEAD)
@pytest.mark.parametrize("url", [URL, f"{URL}?b_start:int=30"])
def test_any_other_document_is_refused_and_named(
    body: str | bytes, reason: str, url: str
) -> None:
    with pytest.raises(ListingChangedError) as raised:
        parse_plone(page_of(body, url), SOURCE)
    assert reason in str(raised.value)


def test_a_changed_template_names_the_platform_and_the_templates_tried() -> None:
    with pytest.raises(ListingChangedError) as raised:
        listing(
            tile("a", "Um")
            .replace("tileItem", "cartao")
            .replace("tileHeadline", "manchete")
        )
    assert str(raised.value) == (
        f'{URL}: no news listing found: looks like Plone, in an unknown form, titled "Notícias"; '
        f"templates tried: {', '.join(template.name for template in PLONE_TEMPLATES)}"
    )


@pytest.mark.parametrize("body", ["", " \r\n\t"])
def test_an_empty_document_is_an_error(body: str) -> None:
    with pytest.raises(SourceError, match="an empty document"):
        parse_plone(page_of(body, URL), SOURCE)


@pytest.mark.parametrize(
    "attack",
    [
        lambda size: '<article class="tileItem">' * size,
        lambda size: "<div>" * size,
        lambda size: tile("a", "Um") * (size // 10),
        lambda size: (
            f'<article class="tileItem"><h2 class="tileHeadline"><a href="/a">{"x " * size}</a>'
        ),
        lambda size: (
            '<a href="?b_start:int=' + "9" * size + '">2</a>' + tile("a", "Um")
        ),
    ],
    ids=["nested items", "nested boxes", "many items", "long title", "long number"],
)
def test_an_attack_on_the_parser_takes_linear_time(
    attack: Callable[[int], str],
) -> None:
    def read(document: str) -> None:
        with suppress(SourceError):
            listing(document)

    assert grows_linearly(read, attack)


SAMPLE = html(
    tile("a", "Um") + PHOTO_LIST + DIV_ITEMS + '<a href="?b_start:int=30">2</a>',
    attributes=PLONE,
).encode()


@settings(max_examples=60)
@given(st.binary(max_size=30), st.integers(0, len(SAMPLE)), st.integers(0, 200))
def test_any_damage_gives_a_listing_or_a_source_error(
    noise: bytes, at: int, lost: int
) -> None:
    page = page_of(SAMPLE[:at] + noise + SAMPLE[at + lost :], URL)
    with suppress(NewsAssetsError):
        read = parse_plone(page, SOURCE)
        assert read == parse_plone(page, SOURCE)
        assert all(
            item.url.startswith(("https://", "http://")) and item.title != ""
            for item in read.entries
        )
        assert len({item.entry_id for item in read.entries}) == len(read.entries)
