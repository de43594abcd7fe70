"""Parts of lists, with the cursor of the part that follows."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from news_assets.web.answers import Part
from news_assets.web.parameters import ListParameters, cursor_of

T = TypeVar("T")


def part_of(found: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Part[T]:
    """Return the first rows as a part; there is one row more if others follow."""
    return Part(
        items=found[:limit],
        next=cursor(found[limit - 1]) if len(found) > limit else None,
    )


def slice_of(items: Sequence[T], parameters: ListParameters) -> Part[T]:
    """Return a part of a list that is whole in memory. Raises ParameterError."""
    [begin] = parameters.position(int) or (0,)
    end = begin + parameters.limit
    return Part(
        items=items[begin:end], next=cursor_of(end) if end < len(items) else None
    )
