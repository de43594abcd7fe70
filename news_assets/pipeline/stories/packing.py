"""Vectors and features as bytes, as the table of members stores them."""

import struct
from typing import TYPE_CHECKING

from news_assets.pipeline.stories.features import Features

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_STEPS = 127  # of a component in eight bits, up to the largest one
_HEAD = struct.Struct("<5H")  # lengths of the five arrays
_SCALE = struct.Struct("<f")


def pack_vector(vector: "Floats") -> bytes:
    """Return a vector in eight bits a dimension, after its largest component."""
    import numpy as np

    largest = float(np.abs(vector).max(initial=0)) or 1.0
    steps = np.rint(vector / largest * _STEPS).astype(np.int8)
    return _SCALE.pack(largest) + bytes(steps.tobytes())


def unpack_vector(packed: bytes) -> "Floats":
    """Return the vector, of unit length."""
    import numpy as np

    (largest,) = _SCALE.unpack_from(packed)
    steps = np.frombuffer(packed, np.int8, offset=_SCALE.size)
    vector = steps.astype(np.float32) * (largest / _STEPS)
    return vector / max(float(np.linalg.norm(vector)), 1e-6)  # type: ignore[no-any-return]  # numpy types it Any


def pack_features(features: Features) -> bytes:
    """Return the codes and counts of an article."""
    import numpy as np

    arrays = _arrays(features)
    lengths = _HEAD.pack(*map(len, arrays))
    return lengths + np.concatenate(arrays).astype(np.uint32).tobytes()


def unpack_features(language: str, packed: bytes) -> Features:
    """Return the features that were packed."""
    import numpy as np

    lengths = _HEAD.unpack_from(packed)
    values = np.frombuffer(packed, np.uint32, offset=_HEAD.size)
    words, counts, names, numbers, keys = np.split(values, np.cumsum(lengths)[:-1])
    return Features(language, words, counts, names, numbers, keys)


def _arrays(features: Features) -> "tuple[NDArray[np.uint32], ...]":
    return (
        features.words,
        features.counts,
        features.names,
        features.numbers,
        features.keys,
    )
