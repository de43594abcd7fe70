"""One small listing per markup of EBC's sites; the expected listing is compared whole."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError
from news_assets.records.reading import ListedEntry, Listing
from news_assets.sources.html_listing_kinds import EBC_TEMPLATES, parse_ebc
from news_assets_tests.sources.page_builders import INSTEAD, html, page_of, source_of

URL = "https://agenciabrasil.ebc.com.br/ultimas"
SITE = "https://agenciabrasil.ebc.com.br"
SOURCE = source_of("ebc", URL)
AT_1430 = datetime(2026, 2, 27, 17, 30, tzinfo=UTC)


def listing(body: str, url: str = URL) -> Listing:
    return parse_ebc(page_of(html(body, title="Últimas"), url), SOURCE)


def entry(path: str, title: str, **said: object) -> ListedEntry:
    return ListedEntry(
        entry_id=f"{SITE}{path}", url=f"{SITE}{path}", title=title, **said
    )  # type: ignore[arg-type]


AGENCIA_BRASIL = """<div class="col ultima-noticia">
  <a href="/saude/noticia/2026-02/vacina"><img src="/sites/default/v.jpg"></a>
  <a class="editoria" href="/saude">Saúde</a>
  <h2><a class="titulo-noticia" href="/saude/noticia/2026-02/vacina">Vacina chega a postos</a></h2>
  <div class="linha-fina-noticia">Doses foram enviadas</div>
  <div class="data-publicacao"><span class="data">27/02/2026 - 14:30</span></div></div>
<div class="ultima-noticia"><a class="titulo-noticia" href="/economia/noticia/2026-02/safra">Safra cresce</a>
  <div class="data-publicacao"><span class="data">27/02/2026 - 14h10</span></div></div>"""

TV_BRASIL = """<div id="view-ultimas-noticias-ajax"><div class="ultima_isotope">
  <a class="imgHeading" title="Foz do Iguaçu" href="/caminhos/2026/02/foz"><img src="/foz.jpg"></a>
  <h4 class="txtNoticias"><a href="/caminhos">Caminhos da Reportagem</a></h4>
  <h3><a title="Foz do Iguaçu" href="/caminhos/2026/02/foz">Crimes em Foz do Iguaçu</a></h3>
  <h5>No AR em <span class="date-display-single">27/02/2026 - 14:30</span></h5></div></div>"""


def test_a_listing_of_agencia_brasil_is_read() -> None:
    assert listing(AGENCIA_BRASIL) == Listing(
        entries=(
            entry("/saude/noticia/2026-02/vacina", "Vacina chega a postos", summary="Doses foram enviadas",
                  categories=("Saúde",), image_url=f"{SITE}/sites/default/v.jpg", published_at=AT_1430),
            entry("/economia/noticia/2026-02/safra", "Safra cresce",
                  published_at=datetime(2026, 2, 27, 17, 10, tzinfo=UTC)),
        ),
        title="Últimas",
        language="pt-BR",
        next_urls=(f"{URL}?page=1",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            TV_BRASIL,
            entry("/caminhos/2026/02/foz", "Crimes em Foz do Iguaçu", categories=("Caminhos da Reportagem",),
                  image_url=f"{SITE}/foz.jpg", published_at=AT_1430),
        ),
        (
            '<ul class="demais-noticias"><li><a href="/noticias/202602/luz">'
            '<h3 class="titulo-noticia">Luz para todos</h3></a>'
            '<span class="data-noticia">27/02/2026 14h30</span></li></ul>',
            entry("/noticias/202602/luz", "Luz para todos", published_at=AT_1430),
        ),
        ('<h3 class="heading"><a href="/geral/noticia/a">Antiga</a></h3>', entry("/geral/noticia/a", "Antiga")),
        (
            '<div class="view view-ultimas"><div class="view-content"><div class="views-row">'
            '<span class="views-field-title"><a href="/a">Linha</a></span>'
            '<span class="date-display-single">27/02/2026 14:30</span></div></div></div>',
            entry("/a", "Linha", published_at=AT_1430),
        ),
    ],
)  # fmt: skip
def test_each_markup_is_read_by_its_template(body: str, expected: ListedEntry) -> None:
    assert listing(body).entries == (expected,)


@pytest.mark.parametrize(
    ("url", "pager", "expected"),
    [
        (URL, "", f"{URL}?page=1"),
        (f"{URL}?page=4", "", f"{URL}?page=5"),
        (f"{URL}?page=4", '<li class="pager-next"><a href="/ultimas?page=5&a=p">Próxima</a></li>', f"{URL}?page=5&a=p"),
        (f"{URL}?page=4", '<a href="?page=2">3</a><a href="?page=7">8</a><a href="?page=5">6</a>', f"{URL}?page=5"),
    ],
)  # fmt: skip
def test_the_next_page_is_the_linked_one_else_the_next_number(
    url: str, pager: str, expected: str
) -> None:
    assert listing(AGENCIA_BRASIL + pager, url).next_urls == (expected,)


def test_a_page_after_the_last_one_is_empty() -> None:
    behind = (
        '<link href="/sites/default/themes/a.css"><div class="view-empty">Nada</div>'
    )
    assert listing(behind, f"{URL}?page=9000") == Listing(
        entries=(), problems=("no entries",)
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [*INSTEAD, (html('<img src="/sites/default/files/a.jpg">'), "like Drupal")],
)
def test_any_other_page_is_named_with_the_templates_tried(
    body: str | bytes, reason: str
) -> None:
    with pytest.raises(ListingChangedError) as raised:
        parse_ebc(page_of(body, URL), SOURCE)
    assert reason in str(raised.value)
    assert all(template.name in str(raised.value) for template in EBC_TEMPLATES)


SAMPLE = html(AGENCIA_BRASIL + TV_BRASIL + '<a href="?page=2">3</a>').encode()


@settings(max_examples=60)
@given(st.binary(max_size=30), st.integers(0, len(SAMPLE)), st.integers(0, 200))
def test_any_damage_gives_a_listing_or_a_source_error(
    noise: bytes, at: int, lost: int
) -> None:
    page = page_of(SAMPLE[:at] + noise + SAMPLE[at + lost :], URL)
    with suppress(NewsAssetsError):
        read = parse_ebc(page, SOURCE)
        assert read == parse_ebc(page, SOURCE)
        assert all(
            item.url.startswith(("https://", "http://")) and item.title != ""
            for item in read.entries
        )
        assert len({item.entry_id for item in read.entries}) == len(read.entries)
