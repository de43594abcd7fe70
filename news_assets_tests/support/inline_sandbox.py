"""A sandbox in this process, without limits, for tests of what runs in it."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from news_assets.clients.document_reader import DocumentReader
from news_assets.clients.sandbox_child import answer_of
from news_assets.errors import NewsAssetsError
from news_assets.records.reading import ReadDocument

R = TypeVar("R")


class InlineSandbox:
    """An implementation of `ports.Sandbox`; results are pickled, as by the real one."""

    def run(
        self, work: Callable[..., R], calls: Sequence[tuple[Any, ...]]
    ) -> list[R | NewsAssetsError]:
        return [pickle.loads(answer_of(work, call)) for call in calls]

    def read_document(
        self,
        body: bytes,
        content_type: str = "",
        name: str = "",
        language: str | None = None,
    ) -> ReadDocument:
        return DocumentReader(self).read(body, content_type, name, language)

    def close(self) -> None: ...
