"""Reads the straight lines that are drawn on a page of a PDF: rules of tables,
underlines, edges of boxes.
"""

from collections.abc import Iterable, Iterator
from ctypes import c_float
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfObject, PdfPage

Box = tuple[float, float, float, float]  # left, bottom, right, top

# lines so close to each other are one: the two edges of a thin rectangle, or a corner
# that is not closed
NEAR_PT = 3.0
_MAX_WIDTH_PT, _MIN_LENGTH_PT = 2.5, 4.0
_RECTANGLE_POINTS = (4, 5)  # the fifth is the first one again
_MAX_DEPTH = 2  # the page, and a form on it
_MAX_PATHS, _MAX_EDGES = (
    3000,
    12_000,
)  # of a page; maps and plans have more, and no tables


class Rule(NamedTuple):
    """A line parallel to an edge of the page: its height or distance from the left, and
    both ends, in points.
    """

    at: float
    start: float
    end: float


def rules_on(page: "PdfPage") -> tuple[list[Rule], list[Rule]]:
    """Return the horizontal and the vertical lines of a page as it is shown, those of
    one line joined.

    Raises PdfiumError.
    """
    from pypdfium2 import raw

    degrees = page.get_rotation()
    level, upright = list[Rule](), list[Rule]()
    paths = page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=_MAX_DEPTH)
    for edge in islice(_edges(islice(paths, _MAX_PATHS)), _MAX_EDGES):
        left, bottom, right, top = turned(edge, degrees)
        if top - bottom <= _MAX_WIDTH_PT and right - left >= _MIN_LENGTH_PT:
            level.append(Rule((bottom + top) / 2, left, right))
        elif right - left <= _MAX_WIDTH_PT and top - bottom >= _MIN_LENGTH_PT:
            upright.append(Rule((left + right) / 2, bottom, top))
    return _joined(level), _joined(upright)


def turned(box: Box, degrees: int) -> Box:
    """Return a box of a page where it is shown if the page is turned clockwise, around
    the origin.
    """
    left, bottom, right, top = box
    match degrees:
        case 90:
            return bottom, -right, top, -left
        case 180:
            return -right, -top, -left, -bottom
        case 270:
            return -top, left, -bottom, right
    return box


def _edges(paths: Iterable["PdfObject"]) -> Iterator[Box]:
    """Yield the sides of rectangles, also of thin ones that are lines, and the segments
    of other paths.
    """
    for path in paths:
        yield from _sides(path) if _is_rectangle(path) else _segments(path)


def _is_rectangle(path: "PdfObject") -> bool:
    """Whether a path is one closed polygon of four corners: nearly all of these are
    rectangles.
    """
    from pypdfium2 import raw

    count = raw.FPDFPath_CountSegments(path)
    is_four = count in _RECTANGLE_POINTS
    return is_four and bool(
        raw.FPDFPathSegment_GetClose(raw.FPDFPath_GetPathSegment(path, count - 1))
    )


def _sides(path: "PdfObject") -> Iterator[Box]:
    box = path.get_bounds()
    left, bottom, right, top = (
        path.container.get_matrix().on_rect(*box) if path.container else box
    )
    yield from ((left, y, right, y) for y in (bottom, top))
    yield from ((x, bottom, x, top) for x in (left, right))


def _segments(path: "PdfObject") -> Iterator[Box]:
    from pypdfium2 import raw

    matrix = path.get_matrix()
    if path.container:
        matrix = matrix.multiply(path.container.get_matrix())
    first = before = (0.0, 0.0)
    x, y = c_float(), c_float()
    for index in range(raw.FPDFPath_CountSegments(path)):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            first = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield _box(before, point)
        if raw.FPDFPathSegment_GetClose(segment):
            yield _box(point, first)
        before = point


def _box(one: tuple[float, float], other: tuple[float, float]) -> Box:
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[0], other[0]),
        max(one[1], other[1]),
    )


def _joined(rules: Iterable[Rule]) -> list[Rule]:
    """Return the lines with those joined that lie on one line and touch."""
    joined: list[Rule] = []
    for of_line in clustered(rules):
        at = sum(rule.at for rule in of_line) / len(of_line)
        end = -inf
        for rule in sorted(of_line, key=lambda rule: rule.start):
            if rule.start <= end + NEAR_PT:
                joined[-1] = Rule(at, joined[-1].start, max(end, rule.end))
            else:
                joined.append(Rule(at, rule.start, rule.end))
            end = joined[-1].end
    return joined


def clustered(rules: Iterable[Rule]) -> list[list[Rule]]:
    """Return the lines in groups of the same place, in the order of their places."""
    groups: list[list[Rule]] = []
    for rule in sorted(rules):
        if groups and rule.at - groups[-1][0].at <= NEAR_PT:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    return groups
