"""What articles are compared by, as bytes in the table of members and as columns of
many articles.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from news_assets.pipeline.stories.features import CODES, SENTENCE, Features

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Steps = NDArray[np.int8]
    Codes = NDArray[np.uint32]
    Ints = NDArray[np.int32]

_STEPS = 127  # of a component in eight bits, up to the largest one
_HEAD = struct.Struct("<5H")  # lengths of the five arrays
_SCALE = struct.Struct("<f")
# a word's count is in the bits above its code
COUNT_BITS = CODES.bit_length() - 1
_MOST = (1 << (32 - COUNT_BITS)) - 1


@dataclass(frozen=True, slots=True)
class Article:
    """An article to compare. `vector` has unit length."""

    article_id: str
    day: date
    vector: "Floats"
    features: Features


class Kinds(NamedTuple):
    """The codes of one article or of several, by kind. Those of words have the word's
    count in the upper bits.
    """

    words: "Codes"
    names: "Codes"
    numbers: "Codes"
    keys: "Codes"
    sentences: "Codes"


@dataclass(frozen=True, slots=True)
class Columns:
    """Articles by column.

    `steps` are the vectors in eight bits, which `scales` bring to unit length. `codes`
    are those of all articles, one after the other, and `lengths` how many each has.
    """

    ids: Sequence[str]
    days: "Ints"
    languages: Sequence[str]
    steps: "Steps"
    scales: "Floats"
    codes: Kinds
    lengths: "tuple[Ints, ...]"


def columns_of(article: Article) -> Columns:
    """Return one article as columns."""
    import numpy as np

    codes = codes_of(article.features)
    steps = _steps(article.vector)[1][None]
    return Columns(
        ids=(article.article_id,),
        days=np.array([article.day.toordinal()], np.int32),
        languages=(article.features.language,),
        steps=steps,
        scales=_scales(steps),
        codes=codes,
        lengths=tuple(np.array([len(one)], np.int32) for one in codes),
    )


def codes_of(features: Features) -> Kinds:
    """Return the codes of one article by kind."""
    import numpy as np

    words = _with_counts(features.words, features.counts)
    sentences = np.fromiter(sorted(features.sentences), np.uint32)
    return Kinds(words, features.names, features.numbers, features.keys, sentences)


def _with_counts(codes: "Codes", counts: "Codes") -> "Codes":
    import numpy as np

    return codes | (np.minimum(counts, np.uint32(_MOST)) << np.uint32(COUNT_BITS))


def features_from(language: str, codes: Kinds) -> Features:
    """Return the features whose codes these are, without sentences."""
    return Features(
        language=language,
        words=bare(codes.words),
        counts=counts_of(codes.words),
        names=codes.names,
        numbers=codes.numbers,
        keys=codes.keys,
    )


def bare(codes: "Codes") -> "Codes":
    """Return codes without their counts."""
    import numpy as np

    return codes & np.uint32(CODES - 1)


def counts_of(codes: "Codes") -> "Codes":
    """Return the counts of codes; 0 for kinds without."""
    import numpy as np

    return codes >> np.uint32(COUNT_BITS)


def pack_vector(vector: "Floats") -> bytes:
    """Return a vector in eight bits a dimension, after its largest component."""
    largest, steps = _steps(vector)
    return _SCALE.pack(largest) + bytes(steps.tobytes())


def _steps(vector: "Floats") -> "tuple[float, Steps]":
    import numpy as np

    largest = float(np.abs(vector).max(initial=0)) or 1.0
    return largest, np.rint(vector / largest * _STEPS).astype(np.int8)


def _scales(steps: "Steps") -> "Floats":
    """Return what brings each vector to unit length."""
    import numpy as np

    lengths = np.linalg.norm(steps.astype(np.float32), axis=1)
    return (1 / np.maximum(lengths, 1e-6)).astype(np.float32)  # type: ignore[no-any-return]  # numpy types it Any


def unpack_vector(packed: bytes) -> "Floats":
    """Return the vector, of unit length."""
    steps = _unpacked_steps([packed])
    return (steps * _scales(steps)[:, None])[0]  # type: ignore[no-any-return]  # numpy types it Any


def _unpacked_steps(packed: Sequence[bytes]) -> "Steps":
    import numpy as np

    rows = np.frombuffer(b"".join(packed), np.int8).reshape(len(packed), -1)
    return np.ascontiguousarray(rows[:, _SCALE.size :])


def vector_bytes(dim: int) -> int:
    """Return how many bytes a packed vector of this dimension has."""
    return _SCALE.size + dim


def pack_features(features: Features) -> bytes:
    """Return the codes and counts of an article; those of sentences follow its keys."""
    import numpy as np

    codes = codes_of(features)
    keys = np.concatenate([codes.keys, codes.sentences])
    arrays = (
        features.words,
        features.counts,
        features.names,
        features.numbers,
        keys,
    )
    lengths = _HEAD.pack(*map(len, arrays))
    return lengths + np.concatenate(arrays).astype(np.uint32).tobytes()


def _heads_and_bodies(features: Sequence[bytes]) -> "tuple[Ints, Codes]":
    """Return the lengths of the five arrays of each article, and all arrays, one after
    the other.
    """
    import numpy as np

    halves = np.frombuffer(b"".join(features), np.uint16)
    sizes = np.fromiter((len(one) // 2 for one in features), np.intp, len(features))
    heads = (np.cumsum(sizes) - sizes)[:, None] + np.arange(5)
    is_body = np.ones(len(halves), bool)
    is_body[heads] = False
    return halves[heads].astype(np.int32), halves[is_body].view(np.uint32)


def unpack_columns(
    ids: Sequence[str],
    days: "Ints",
    languages: Sequence[str],
    vectors: Sequence[bytes],
    features: Sequence[bytes],
) -> Columns:
    """Return articles as columns, by what was packed. All vectors have one length."""
    import numpy as np

    steps = _unpacked_steps(vectors)
    lengths, body = _heads_and_bodies(features)
    array = np.repeat(np.tile(np.arange(5, dtype=np.int8), len(ids)), lengths.ravel())
    words, counts, names, numbers, keys = (body[array == n] for n in range(5))
    is_sentence = keys >= SENTENCE
    of_article = np.repeat(np.arange(len(ids)), lengths[:, 4])
    sentences = np.bincount(of_article[is_sentence], minlength=len(ids))
    lengths[:, 4] -= sentences
    return Columns(
        ids=ids,
        days=days,
        languages=languages,
        steps=steps,
        scales=_scales(steps),
        codes=Kinds(
            words=_with_counts(words, counts),
            names=names,
            numbers=numbers,
            keys=keys[~is_sentence],
            sentences=keys[is_sentence],
        ),
        lengths=(
            lengths[:, 0],
            lengths[:, 2],
            lengths[:, 3],
            lengths[:, 4],
            sentences.astype(np.int32),
        ),
    )
