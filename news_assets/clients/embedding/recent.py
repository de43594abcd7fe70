"""An embedder that keeps its last vectors, for two stages that embed the same texts one
after the other.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from news_assets.ports.search_index import Embedder
from news_assets.records.reading import Embedded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RECENT_TEXTS = 2048  # with texts of 4,000 characters 12 MB


class RecentEmbedder:
    """Implements `ports.Embedder`. Thread-safe if the embedder is."""

    def __init__(self, embedder: Embedder) -> None:
        self.model, self.dim = embedder.model, embedder.dim
        self._embedder = embedder
        self._recent: OrderedDict[str, tuple[npt.NDArray[np.float32], Embedded]] = (
            OrderedDict()
        )
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one unit vector per passage, in order. Raises EmbedError."""
        with self._lock:
            found = {text: self._known(text) for text in texts if text in self._recent}
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        if missing:
            made = self._embedder.embed(missing)
            found |= dict(zip(missing, made, strict=True))
            self._keep(dict(zip(missing, made, strict=True)))
        return [found[text] for text in texts]

    def embed_query(self, query: str) -> Embedded:
        """Return the unit vector of a query. Raises EmbedError."""
        return self._embedder.embed_query(query)

    def _known(self, text: str) -> Embedded:
        vector, about = self._recent[text]
        return Embedded(tuple(vector.tolist()), about.token_count, about.is_cut)

    def _keep(self, made: dict[str, Embedded]) -> None:
        import numpy as np

        with self._lock:
            for (
                text,
                one,
            ) in (
                made.items()
            ):  # as arrays, which take an eighth of the memory of tuples
                without = Embedded((), one.token_count, one.is_cut)
                self._recent[text] = np.array(one.vector, np.float32), without
            while len(self._recent) > RECENT_TEXTS:
                self._recent.popitem(last=False)
