"""Dates in the visible text of a page, next to words of publication and update."""

import pytest

from news_assets_tests.pipeline.page.dated_page import TEXT, published, updated


@pytest.mark.parametrize(
    "byline",
    [
        "<p>Publicado em 26/02/2026 14h30</p>",
        "<div>Por Ana Lima | Publicada em 26/02/2026, às 14:30</div>",
        "<dl><dt>Publicado:</dt><dd>26/02/2026 às 14:30</dd></dl>",
        "<p>Criado em 26 de fevereiro de 2026, 14h30</p>",
        "<ul><li>Postado em 26/fev/2026 14h30min</li></ul>",
        "<p>Published on February 26, 2026 2:30 pm</p>",
        "<p>PUBLISHED: 14:30, 26 February 2026</p>",
        "<p>Data de publicação: 26/02/2026 14h30</p>",
        "<p>Publicado el 26 de febrero de 2026 a las 14:30</p>",
        "<p>Publié le 26 février 2026 à 14h30, modifié le 27 février 2026 à 9h00</p>",
        "<p>Veröffentlicht am 26.02.2026, 14.30 Uhr</p>",
        "<p>Pubblicato il 26 febbraio 2026 alle 14:30</p>",
        "<p>Atualizado em 27/02/2026 9h - Publicado em 26/02/2026 14h30</p>",
        "<p>Publicado <time datetime='2026-02-26T14:30:00-03:00'>há 6 dias</time></p>",
        "<p>26/02/2026 14h30</p>",
        "<p>Brasília, 26/02/2026 - 14h30 | Atualizado há 3 dias</p>",
        "Publicado em 26/02/2026 14h30",
    ],
)
def test_a_byline_dates_the_page(byline: str) -> None:
    assert published(byline=byline) == ("26/02 14:30", "text")


def test_a_date_above_the_headline_dates_the_page() -> None:
    assert published(above="<p>Publicado em 26/02/2026 14h30</p>") == (
        "26/02 14:30",
        "text",
    )


def test_the_byline_precedes_the_foot() -> None:
    foot = "<div>Publicado em 20/02/2026 10h00</div>"
    assert published(byline=TEXT, foot=foot) == ("26/02 14:30", "text")
    assert published(foot=foot) == ("20/02 10:00", "text")


@pytest.mark.parametrize(
    "foot",
    [
        "<div>Publicado em 20/02/2026 10h00</div><div>Publicado em 21/02/2026 10h00</div>",
        "<aside>Publicado em 20/02/2026 10h00</aside>",
        "<div class='related'>Publicado em 20/02/2026 10h00</div>",
        "<div id='comments'>Publicado em 20/02/2026 10h00</div>",
        "<p>O edital foi publicado em 20/02/2026 10h00</p>",
        "<p>Copyright 2026</p>",
    ],
    ids=["list", "aside", "related", "comments", "sentence", "copyright"],
)
def test_unrelated_dates_are_ignored(foot: str) -> None:
    assert published(foot=foot)[1] in ("guess", None)


@pytest.mark.parametrize(
    "byline",
    ["<p>Inscrições vão até 20/02/2026</p>", "<p>Atualizado em 20/02/2026 9h</p>"],
)
def test_dates_of_other_events_near_the_headline_are_ignored(byline: str) -> None:
    assert published(byline=byline)[1] in ("guess", None)


@pytest.mark.parametrize(
    "byline",
    [
        "<p>Publicado em 26/02/2026 14h30 - Atualizado em 27/02/2026 9h12</p>",
        "<p>Última modificação: 27/02/2026 9h12</p>",
        "<p>Última atualização em 27/02/2026 às 9h12</p>",
        "<p>Last updated February 27, 2026 9:12 AM</p>",
        "<p>Mis à jour le 27 février 2026 à 9h12</p>",
        "<p>Aktualisiert am 27.02.2026 um 9:12 Uhr</p>",
        "<p>Updated <time datetime='2026-02-27T09:12:00-03:00'>today</time></p>",
    ],
)
def test_a_byline_dates_the_update(byline: str) -> None:
    assert updated(byline=byline) == "27/02 09:12"


@pytest.mark.parametrize(
    "line",
    [
        "<h3>26/02/2026 14h30</h3>",
        "<div>26/02/2026 14:30 | 20 comentários</div>",
        "<div>Agência da Cidade de Todos - 26/02/2026 - 14h30</div>",
        f"<div>Publicada em 26/02/2026 14h30 Concurso {'com prova de títulos e de redação ' * 8}</div>",
    ],
    ids=["small heading", "bar", "source", "long line"],
)
def test_a_date_below_the_headline_is_read(line: str) -> None:
    assert published(byline=line) == ("26/02 14:30", "text")


@pytest.mark.parametrize(
    "date",
    [
        '<span class="data">26/02/2026 • 14h30</span>',
        '<div id="lblData">26/02/2026 - 14:30</div>',
    ],
)
def test_a_date_far_from_the_headline_is_a_guess_where_its_element_is_named_so(
    date: str,
) -> None:
    assert published(foot=f"{date}<p>20/02/2026</p>") == ("26/02 14:30", "guess")


def test_the_only_day_on_a_page_is_a_guess() -> None:
    assert published(foot="<td>26/02/2026 14h30</td>") == ("26/02 14:30", "guess")


def test_the_date_of_the_last_revision_is_a_guess_wherever_it_is() -> None:
    assert published(
        foot="<p>Date of Last Revision: February 26, 2026</p><p>20/02/2026</p>"
    ) == (
        "26/02 00:00",
        "guess",
    )
