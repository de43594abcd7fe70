from dataclasses import dataclass, field

from news_assets.clients.embedding.recent import RECENT_TEXTS, RecentEmbedder
from news_assets.records.reading import Embedded


@dataclass
class Counting:
    model: str = "m"
    dim: int = 2
    embedded: list[str] = field(default_factory=list)

    def embed(self, texts: list[str]) -> list[Embedded]:
        self.embedded += texts
        return [Embedded((len(text), 0.5), len(text), len(text) > 2) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        return Embedded((0.0, 1.0), 1, False)


def test_a_text_is_embedded_once_and_its_answer_stays_the_same() -> None:
    counting = Counting()
    embedder = RecentEmbedder(counting)
    first = embedder.embed(["a", "bbb", "a"])
    assert embedder.embed(["bbb", "a", "cc"])[:2] == [first[1], first[0]]
    assert counting.embedded == ["a", "bbb", "cc"]


def test_the_oldest_texts_are_forgotten() -> None:
    counting = Counting()
    embedder = RecentEmbedder(counting)
    embedder.embed([str(number) for number in range(RECENT_TEXTS + 1)])
    embedder.embed(["0", str(RECENT_TEXTS)])
    assert counting.embedded[-1] == "0"
    assert len(counting.embedded) == RECENT_TEXTS + 2
