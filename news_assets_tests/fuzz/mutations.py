"""Mutations of real inputs, as a Hypothesis strategy."""

from collections.abc import Sequence

from hypothesis import strategies as st

MAX_BYTES = 300_000


@st.composite
def mutated(draw: st.DrawFn, inputs: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """Draw an input with up to six pieces of it removed, repeated, replaced, or joined
    with those of another input.
    """
    data = draw(st.sampled_from(inputs))
    pieces = st.one_of(
        st.sampled_from(tokens),
        st.binary(max_size=8),
        st.text(max_size=4).map(_encoded),
    )
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        end = min(start + draw(st.integers(0, 400)), len(data))
        match draw(
            st.sampled_from(
                ("remove", "repeat", "insert", "replace", "truncate", "join")
            )
        ):
            case "remove":
                data = data[:start] + data[end:]
            case "repeat":
                data = (
                    data[:start]
                    + data[start:end] * draw(st.sampled_from((2, 50, 2000)))
                    + data[end:]
                )
            case "insert":
                data = (
                    data[:start]
                    + draw(pieces) * draw(st.sampled_from((1, 3, 1000, 20_000)))
                    + data[start:]
                )
            case "replace":
                data = data[:start] + draw(pieces) + data[end:]
            case "truncate":
                data = data[:start]
            case _:
                data = data[:start] + draw(st.sampled_from(inputs))[start:]
        data = data[:MAX_BYTES]
    return data


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
