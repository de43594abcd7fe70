"""/health says whether the server lives and is ready, and why not; /metrics has counts
in Prometheus' text format.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from news_assets.errors import NewsAssetsError
from news_assets.web.archive import Archive

# Metric, meaning, its labels, and the SELECT of labels and value. Each reads a few
# columns of one table.
_METRICS: Final = (
    (
        "articles",
        "articles by outcome",
        ("desk", "outcome"),
        "desk, outcome, count(*) FROM raw_articles",
    ),
    (
        "documents",
        "documents in the search index",
        ("desk", "outcome"),
        "desk, outcome, count(*) FROM indexed_documents",
    ),
    (
        "sources",
        "sources by the outcome of the last poll",
        ("desk", "outcome"),
        "desk, last_outcome, count(*) FROM sources",
    ),
    (
        "failures",
        "failures that are tried again",
        ("desk", "stage"),
        "desk, stage, count(next_try_at) FROM failures",
    ),
    (
        "failures_given_up",
        "failures that are not tried again",
        ("desk", "stage"),
        "desk, stage, count_if(next_try_at IS NULL) FROM failures",
    ),
    (
        "last_new_entry_timestamp_seconds",
        "time of the last poll that found a new entry",
        ("desk",),
        "desk, epoch(max(last_new_at)) FROM sources WHERE last_new_at IS NOT NULL",
    ),
    (
        "messages",
        "messages by state",
        ("state",),
        (
            "CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN next_try_at IS NOT NULL THEN 'waiting'"
            " ELSE 'given up' END, count(*) FROM messages"
        ),
    ),
    (
        "conditions",
        "bad states that operators were told",
        (),
        "count(*) FROM conditions",
    ),
)
_ESCAPED: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def health(archive: Archive, request: Request) -> Response:
    """Return that the server lives, and whether lake and index can be read; 503 with
    the reasons if not.
    """
    try:
        archive.is_ready()
        reasons = []
    except NewsAssetsError as error:
        reasons = [str(error)]
    return JSONResponse(
        {"live": True, "ready": not reasons, "reasons": reasons},
        503 if reasons else 200,
    )


def metrics(archive: Archive, request: Request) -> Response:
    """Return the counts of the lake's rows at one commit. Raises LakeError."""
    with archive.lake.latest() as lake:
        commit = lake.snapshot()
        found = [
            lake.query(f"SELECT {select}{' GROUP BY ALL ORDER BY ALL' if by else ''}")
            for *_, by, select in _METRICS
        ]
    lines = [
        "# HELP news_commit number of the last commit\n# TYPE news_commit gauge\nnews_commit"
        f" {commit}"
    ]
    for (name, meaning, labels, _), rows in zip(_METRICS, found, strict=True):
        lines += [
            f"# HELP news_{name} {meaning}",
            f"# TYPE news_{name} gauge",
            *_samples(name, labels, rows.rows()),
        ]
    return Response(
        "\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _samples(
    name: str, labels: Iterable[str], rows: Iterable[tuple[object, ...]]
) -> Iterator[str]:
    for *values, number in rows:
        pairs = (
            f'{label}="{str(value).translate(_ESCAPED)}"'
            for label, value in zip(labels, values, strict=True)
        )
        yield (
            f"news_{name}{{{','.join(pairs)}}} {number}"
            if values
            else f"news_{name} {number}"
        )
