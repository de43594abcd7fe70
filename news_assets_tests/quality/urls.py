"""Canonical URLs on other tools' test vectors: shares of equal pages joined and of
different pages kept apart.

Run: `python -m news_assets_tests.quality.urls [-v]`. Reads
../shared/corpus/url_canonical; exits 1 below a floor, 0 if it is missing. The tools
disagree about `www.`, trailing slashes and more, so a vector is correct if its input
and its expected output have the same canonical URL. `kept apart` covers the URLs that
normalize-url keeps apart.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from news_assets.text.urls import canonical_url, resolve

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "url_canonical"
NORMALISERS = {
    "normalizeUrl": "normalize-url",
    "canonicalize_url": "ural",
    "clean_url": "courlan",
    "infer_redirection": "ural redirections",
    "normalize_url": "courlan",
    "urls.normalize_url": "mediacloud",
}
FLOORS = {
    "idempotent": 1.0,
    "courlan": 0.7,
    "kept apart": 1.0,
    "normalize-url": 0.62,
    "ural": 1.0,
    "ural redirections": 0.94,
    "whatwg": 0.85,
}

scores: dict[str, list[bool]] = defaultdict(list)


def main() -> int:
    if not CORPUS.is_dir():
        print(f"skipped: no corpus at {CORPUS}")
        return 0
    vectors()
    whatwg()
    below = []
    for name, floor in sorted(FLOORS.items()):
        share = sum(scores[name]) / max(1, len(scores[name]))
        below += [name] if share < floor else []
        print(
            f"{name:20} {sum(scores[name]):5} of {len(scores[name]):5}  {share:6.1%}  floor {floor:.1%}"
        )
    print(
        "below the floor: " + ", ".join(below)
        if below
        else "all at or above their floors"
    )
    return 1 if below else 0


def score(name: str, is_correct: bool, *detail: object) -> None:
    scores[name].append(is_correct)
    if not is_correct and "-v" in sys.argv:
        print(f"  {name}:", *detail)


def rows() -> Iterator[dict[str, Any]]:
    with (CORPUS / "dev" / "vectors.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def vectors() -> None:
    kept_by_tool = set()
    for row in rows():
        for url in filter(
            lambda value: isinstance(value, str),
            row["args"] if isinstance(row["args"], list) else [],
        ):
            once = canonical_url(url)
            score("idempotent", canonical_url(once) == once, url, once)
        # drops the scheme
        is_ural_normal = row["function"] == "normalize_url" and "ural" in row["source"]
        tool = NORMALISERS.get(row["function"])
        if (
            tool is None
            or is_ural_normal
            or row["kwargs"]
            or not isinstance(row["expected"], str)
        ):
            continue
        expected, got = canonical_url(row["expected"]), canonical_url(row["args"][0])
        score(tool, expected == got, row["args"][0], "expected", expected, "got", got)
        if tool == "normalize-url" and row["expected"].startswith("http"):
            kept_by_tool.add(row["expected"].partition("#")[0].rstrip("/"))
    known: dict[str, str] = {}
    for url in sorted(kept_by_tool):
        other = known.setdefault(canonical_url(url), url)
        score("kept apart", other == url, url, other)


def whatwg() -> None:
    """Score URLs that browsers accept: input and parsed form must have the same
    canonical URL.
    """
    for case in json.loads(
        (CORPUS / "common" / "wpt" / "urltestdata.json").read_text(encoding="utf-8")
    ):
        if not isinstance(case, dict) or not str(case.get("href", "")).startswith(
            ("http://", "https://")
        ):
            continue
        url = (
            resolve(case["base"], case["input"]) if case.get("base") else case["input"]
        )
        score(
            "whatwg",
            canonical_url(url) == canonical_url(case["href"]),
            ascii(case["input"]),
            ascii(canonical_url(url)),
        )


if __name__ == "__main__":
    sys.exit(main())
