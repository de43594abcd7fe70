"""Ports are opened by the work that needs them, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.clients.factory import open_ports
from news_assets.errors import EmbedError, IndexingError, TaxonomyError
from news_assets.ports.services import Lazy
from news_assets.settings import Settings


def test_ports_that_cannot_be_opened_fail_where_they_are_used(tmp_path: Path) -> None:
    values = {
        "home": tmp_path,
        "embedding_model": str(tmp_path / "no-model"),
        "taxonomy": tmp_path / "no.yaml",
    }
    (tmp_path / "search.sqlite").write_text("no index at all, only words")
    with open_ports(
        Settings.model_validate(values), ("enricher", "embedder", "search", "sandbox")
    ) as ports:
        with pytest.raises(EmbedError, match="no-model"):
            ports["embedder"].open()
        with pytest.raises(TaxonomyError, match=r"no\.yaml: cannot be read"):
            ports["enricher"].open()
        with pytest.raises(IndexingError):
            ports["search"].count()


def test_a_lazy_port_is_opened_once_and_again_after_an_error() -> None:
    def opening() -> Iterator[object]:
        yield EmbedError("not there yet")
        yield "model"
        yield "another model"

    opened = opening()

    def open_port() -> str:
        found = next(opened)
        if isinstance(found, EmbedError):
            raise found
        return str(found)

    port = Lazy(open_port)
    assert port.take() is None
    with pytest.raises(EmbedError):
        port.open()
    assert (port.open(), port.open(), port.take(), port.take()) == (
        "model",
        "model",
        "model",
        None,
    )
    assert port.open() == "another model"
