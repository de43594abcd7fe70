"""Finds the ruled tables of a page of a PDF: lines that cross, and the characters
between them.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_float
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfObject, PdfPage, PdfTextPage


# --- straight lines drawn on a page ---------------------------------------------------

_Box = tuple[float, float, float, float]  # left, bottom, right, top

# lines so close to each other are one: the two edges of a thin rectangle, or a corner
# that is not closed
_NEAR_PT = 3.0
_MAX_WIDTH_PT, _MIN_LENGTH_PT = 2.5, 4.0
_RECTANGLE_POINTS = (4, 5)  # the fifth is the first one again
_MAX_DEPTH = 2  # the page, and a form on it
# of a page; maps and plans have more, and no tables
_MAX_PATHS = 3000
_MAX_EDGES = 12_000


class _Rule(NamedTuple):
    """A line parallel to an edge of the page: its height or distance from the left, and
    both ends, in points.
    """

    at: float
    start: float
    end: float


def _rules_on(page: "PdfPage") -> tuple[list[_Rule], list[_Rule]]:
    """Return the horizontal and the vertical lines of a page as it is shown, those of
    one line joined.

    Raises PdfiumError.
    """
    from pypdfium2 import raw

    degrees = page.get_rotation()
    horizontal = list[_Rule]()
    vertical = list[_Rule]()
    paths = page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=_MAX_DEPTH)
    for edge in islice(_edges(islice(paths, _MAX_PATHS)), _MAX_EDGES):
        left, bottom, right, top = _turned(edge, degrees)
        if top - bottom <= _MAX_WIDTH_PT and right - left >= _MIN_LENGTH_PT:
            horizontal.append(_Rule((bottom + top) / 2, left, right))
        elif right - left <= _MAX_WIDTH_PT and top - bottom >= _MIN_LENGTH_PT:
            vertical.append(_Rule((left + right) / 2, bottom, top))
    return _joined(horizontal), _joined(vertical)


def _turned(box: _Box, degrees: int) -> _Box:
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


def _edges(paths: Iterable["PdfObject"]) -> Iterator[_Box]:
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
    if count not in _RECTANGLE_POINTS:
        return False
    last = raw.FPDFPath_GetPathSegment(path, count - 1)
    return bool(raw.FPDFPathSegment_GetClose(last))


def _sides(path: "PdfObject") -> Iterator[_Box]:
    left, bottom, right, top = path.get_bounds()
    if path.container:
        matrix = path.container.get_matrix()
        left, bottom, right, top = matrix.on_rect(left, bottom, right, top)
    yield left, bottom, right, bottom
    yield left, top, right, top
    yield left, bottom, left, top
    yield right, bottom, right, top


def _segments(path: "PdfObject") -> Iterator[_Box]:
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


def _box(one: tuple[float, float], other: tuple[float, float]) -> _Box:
    left, right = sorted((one[0], other[0]))
    bottom, top = sorted((one[1], other[1]))
    return left, bottom, right, top


def _joined(rules: Iterable[_Rule]) -> list[_Rule]:
    """Return the lines with those joined that lie on one line and touch."""
    joined: list[_Rule] = []
    for of_line in _clustered(rules):
        at = sum(rule.at for rule in of_line) / len(of_line)
        end = -inf
        for rule in sorted(of_line, key=lambda rule: rule.start):
            if rule.start <= end + _NEAR_PT:
                joined[-1] = _Rule(at, joined[-1].start, max(end, rule.end))
            else:
                joined.append(_Rule(at, rule.start, rule.end))
            end = joined[-1].end
    return joined


def _clustered(rules: Iterable[_Rule]) -> list[list[_Rule]]:
    """Return the lines in groups of the same place, in the order of their places."""
    groups: list[list[_Rule]] = []
    for rule in sorted(rules):
        if groups and rule.at - groups[-1][0].at <= _NEAR_PT:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    return groups


_Span = tuple[int, int]  # from a character to before another
_Place = tuple[int, int]  # row from the top and column from the left, both from 0

_MAX_RULES: Final = 300  # in each direction; maps and plans have more
_MAX_CELL_CHARS: Final = 600  # longer cells are parts of a page's layout
_MIN_CELLS: Final = 4
_MIN_FILLED: Final = 0.4  # of the cells
# between the last character of a cell and the first of the next one
_MIN_GAP_PT: Final = 1.0
_SPACES: Final = frozenset(map(ord, " \t\r\n\u00a0")) | {0}


@dataclass(frozen=True, slots=True)
class _PdfTable:
    """A table: the characters that it takes in the text of its page, and those of each
    cell, row by row.
    """

    span: _Span
    rows: tuple[tuple[tuple[_Span, ...], ...], ...]


def tables_on(page: "PdfPage", text_page: "PdfTextPage") -> list[_PdfTable]:
    """Return the tables of a page in the order of its text; none of a page whose
    drawing is broken.

    A table has two rows and two columns with text or more, and no text of others
    between that of its cells: the text of a page with tables has the same words in the
    same order, but for those in different cells.
    """
    from pypdfium2 import PdfiumError

    try:
        horizontal, vertical = _rules_on(page)
        if max(len(horizontal), len(vertical)) > _MAX_RULES:
            return []
        grids = _grids(horizontal, vertical)
        if not grids:
            return []
        boxes = _boxes(text_page, page.get_rotation())
    except PdfiumError:
        return []
    found: list[_PdfTable] = []
    for grid in grids:
        table = _table(grid, boxes)
        if table is not None:
            found.append(table)
    return _apart(sorted(found, key=lambda table: table.span))


def _apart(tables: Sequence[_PdfTable]) -> list[_PdfTable]:
    """Return the tables without those that begin within the one before."""
    kept: list[_PdfTable] = []
    for table in tables:
        if not kept or table.span[0] >= kept[-1].span[1]:
            kept.append(table)
    return kept


# --- grids ----------------------------------------------------------------------------


def _crossing(
    horizontal: list[_Rule], vertical: list[_Rule]
) -> list[tuple[list[_Rule], list[_Rule]]]:
    """Return the lines that are connected by crossings, horizontal and vertical."""
    groups: list[tuple[list[_Rule], list[_Rule]]] = []
    free_horizontals = list(horizontal)
    free_verticals = list(vertical)
    while free_horizontals:
        first = free_horizontals[-1]
        group = _connected(first, free_horizontals[:-1], free_verticals)
        free_horizontals = _without(free_horizontals, group[0])
        free_verticals = _without(free_verticals, group[1])
        groups.append(group)
    return groups


def _connected(
    first: _Rule, free_horizontals: list[_Rule], free_verticals: list[_Rule]
) -> tuple[list[_Rule], list[_Rule]]:
    """Return a horizontal line with the free lines that crossings connect it to,
    horizontal and vertical.
    """
    horizontals: list[_Rule] = []
    verticals: list[_Rule] = []
    new = [first]
    while new:
        horizontals += new
        crossed = [one for one in free_verticals if _crosses_any(one, new)]
        verticals += crossed
        free_verticals = _without(free_verticals, crossed)
        new = [one for one in free_horizontals if _crosses_any(one, crossed)]
        free_horizontals = _without(free_horizontals, new)
    return horizontals, verticals


def _without(rules: Iterable[_Rule], gone: Iterable[_Rule]) -> list[_Rule]:
    excluded = set(gone)
    return [rule for rule in rules if rule not in excluded]


def _crosses_any(rule: _Rule, others: Iterable[_Rule]) -> bool:
    """Whether a line crosses any of these others, which are at right angles to it."""
    return any(_cross(rule, other) for other in others)


def _cross(horizontal: _Rule, vertical: _Rule) -> bool:
    if not _spans(horizontal, vertical.at):
        return False
    return _spans(vertical, horizontal.at)


def _spans(rule: _Rule, place: float) -> bool:
    """Whether a place is between the ends of a line, or close to one."""
    return rule.start - _NEAR_PT <= place <= rule.end + _NEAR_PT


@dataclass(frozen=True, slots=True)
class _Grid:
    """Places of the lines from the left and downwards, and the cell that each field
    between them belongs to.
    """

    lefts: list[float]
    tops: list[float]
    cells: dict[_Place, _Place]

    def cell_at(self, x: float, y: float) -> _Place | None:
        """Return the cell at a point."""
        row = bisect_right(self.tops, -y) - 1
        column = bisect_right(self.lefts, x) - 1
        return self.cells.get((row, column))


def _grids(horizontal: list[_Rule], vertical: list[_Rule]) -> list[_Grid]:
    """Return the grids of lines that cross, with two rows, two columns and four cells
    or more.
    """
    grids: list[_Grid] = []
    for horizontals, verticals in _crossing(horizontal, vertical):
        above = _clustered(horizontals)
        above.reverse()
        left_of = _clustered(verticals)
        if len(above) < 3:
            continue
        if len(left_of) < 3:
            continue
        grid = _grid(above, left_of)
        if len(set(grid.cells.values())) >= _MIN_CELLS:
            grids.append(grid)
    return grids


def _grid(above: Sequence[list[_Rule]], left_of: Sequence[list[_Rule]]) -> _Grid:
    """Return the grid of these lines. A field without a line to the left or above it
    belongs to the cell there.
    """
    tops = [-_place(rules) for rules in above]
    lefts = [_place(rules) for rules in left_of]
    cells: dict[_Place, _Place] = {}
    for row, (top, bottom) in enumerate(pairwise(tops)):
        for column, (left, right) in enumerate(pairwise(lefts)):
            if column and not _is_drawn(left_of[column], -(top + bottom) / 2):
                cells[row, column] = cells[row, column - 1]
            elif row and not _is_drawn(above[row], (left + right) / 2):
                cells[row, column] = cells[row - 1, column]
            else:
                cells[row, column] = row, column
    return _Grid(lefts, tops, cells)


def _place(rules: list[_Rule]) -> float:
    return sum(rule.at for rule in rules) / len(rules)


def _is_drawn(rules: list[_Rule], at: float) -> bool:
    return any(_spans(rule, at) for rule in rules)


# --- characters -----------------------------------------------------------------------


def _boxes(text_page: "PdfTextPage", degrees: int) -> list[tuple[int, _Box]]:
    """Return index and box, as shown, of each character of a page but spaces and ends
    of lines.

    Raises:
        PdfiumError: The page is broken.
    """
    from pypdfium2 import raw

    boxes: list[tuple[int, _Box]] = []
    for index in range(text_page.count_chars()):
        if raw.FPDFText_GetUnicode(text_page, index) in _SPACES:
            continue
        box = _turned(text_page.get_charbox(index), degrees)
        boxes.append((index, box))
    return boxes


class _Character(NamedTuple):
    """A character in a cell of a grid, by its offset in the text of its page."""

    place: _Place
    offset: int
    box: _Box


def _table(grid: _Grid, boxes: Sequence[tuple[int, _Box]]) -> _PdfTable | None:
    """Return the table of a grid if it is one: its text is in one piece, and fills rows
    and columns.
    """
    inside = _inside(grid, boxes)
    for one, following in pairwise(inside):
        if one.place == following.place:
            continue
        if _is_one_word(one, following):
            return None
    cells = _spans_by_cell(inside)
    if not _is_table(cells):
        return None
    return _PdfTable((inside[0].offset, inside[-1].offset + 1), _rows(cells))


def _spans_by_cell(inside: Iterable[_Character]) -> dict[_Place, list[_Span]]:
    """Return the parts of the text in each cell, in their order."""
    cells: dict[_Place, list[_Span]] = {}
    for place, group in groupby(inside, key=lambda one: one.place):
        offsets = [one.offset for one in group]
        cells.setdefault(place, []).append((offsets[0], offsets[-1] + 1))
    return cells


def _inside(grid: _Grid, boxes: Sequence[tuple[int, _Box]]) -> list[_Character]:
    """Return the characters in the cells of a grid; none where others are between them."""
    inside: list[_Character] = []
    last = 0
    for number, (index, box) in enumerate(boxes):
        left, bottom, right, top = box
        place = grid.cell_at((left + right) / 2, (bottom + top) / 2)
        if place is None:
            continue
        if inside and number != last + 1:
            return []
        last = number
        inside.append(_Character(place, index, box))
    return inside


def _is_one_word(one: _Character, following: _Character) -> bool:
    """Whether two characters in different cells stand so close that a word runs over
    the line between them.
    """
    if following.offset != one.offset + 1:
        return False
    left, bottom, right, top = one.box
    next_left, next_bottom, _, next_top = following.box
    if next_bottom >= top or bottom >= next_top:  # in other lines
        return False
    return left <= next_left < right + _MIN_GAP_PT


def _rows(
    cells: dict[_Place, list[_Span]],
) -> tuple[tuple[tuple[_Span, ...], ...], ...]:
    columns = sorted({column for _, column in cells})
    rows: list[tuple[tuple[_Span, ...], ...]] = []
    for row in sorted({row for row, _ in cells}):
        of_row = [tuple(cells.get((row, column), ())) for column in columns]
        rows.append(tuple(of_row))
    return tuple(rows)


def _is_table(cells: dict[_Place, list[_Span]]) -> bool:
    """Whether cells with text are those of a table, not boxes of a form or of a page's
    layout.
    """
    rows = Counter[int]()
    columns = Counter[int]()
    for (row, column), spans in cells.items():
        rows[row] += 1
        columns[column] += 1
        if sum(end - start for start, end in spans) > _MAX_CELL_CHARS:
            return False
    if not _have_two_filled(rows):
        return False
    if not _have_two_filled(columns):
        return False
    return len(cells) >= _MIN_FILLED * len(rows) * len(columns)


def _have_two_filled(counts: Counter[int]) -> bool:
    """Whether two rows, or two columns, have text in more than one cell."""
    return sum(count > 1 for count in counts.values()) > 1
