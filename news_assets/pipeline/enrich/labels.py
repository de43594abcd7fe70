"""Themes that persons gave: which is in force, and how it replaces that of an enricher."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches

from news_assets.errors import NewsAssetsError
from news_assets.ports.services import Rows
from news_assets.records.derived import EnrichedArticle, ThemeLabel
from news_assets.taxonomy.taxonomy_files import Taxonomy


def labels_in_force(labels: Iterable[ThemeLabel]) -> dict[str, ThemeLabel]:
    """Return the newest label of each article, by article id."""
    return {
        label.article_id: label
        for label in sorted(labels, key=lambda label: label.labelled_at)
    }


def labelled(row: EnrichedArticle, label: ThemeLabel | None) -> EnrichedArticle:
    """Return the row with the theme of the label.

    Its input hash is another one, so that its document is indexed again.
    """
    if label is None or row.outcome != "ok":
        return row
    return replace(
        row,
        input_hash=hashlib.sha256(
            f"{row.input_hash} labelled {label.code}".encode()
        ).hexdigest(),
        theme_code=label.code,
        theme_path=label.theme_path,
        theme_labels=label.theme_labels,
        theme_score=1.0,
        theme_reason=f"labelled by {label.labelled_by}",
    )


def store_label(
    rows: Rows,
    article_id: str,
    desk: str,
    code: str | None,
    by: str,
    taxonomy: Taxonomy,
    now: datetime,
) -> ThemeLabel:
    """Store a person's label of an enriched article, and its theme in the article's
    row.

    Raises:
        NewsAssetsError: There is no such article in the desk, or no such code in the
            taxonomy.
    """
    found = rows.read(
        EnrichedArticle, article_id=[article_id], desk=[desk], outcome=["ok"]
    )
    if not found:
        raise NewsAssetsError(f"no enriched article `{article_id}` in desk {desk}")
    if code is not None and code not in taxonomy.themes:
        raise NewsAssetsError(
            f"no theme `{code}` in the taxonomy; {_hint(code, taxonomy)}"
        )
    [row] = found
    path = taxonomy.path(code) if code else ()
    language = (row.language or "").partition("-")[0] or None
    label = ThemeLabel(
        article_id=article_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        labelled_at=now,
        labelled_by=by,
        code=code,
        theme_path=path,
        theme_labels=tuple(taxonomy.themes[each].label(language) for each in path),
        previous=row.theme_code,
    )
    rows.upsert([label])
    rows.upsert([labelled(row, label)])
    return label


def _hint(code: str, taxonomy: Taxonomy) -> str:
    near = get_close_matches(code, taxonomy.themes, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"themes of level 1: {', '.join(taxonomy.roots)}"
