"""Accuracy of themes found by words alone on labelled news, beside the most frequent
label; exits 1 below a floor.

A set's labels are not the taxonomy's: each label is mapped to taxonomy codes, and the
longest matching code decides. An item without a theme is wrong in `accuracy` and
excluded from `of those`, the share of given themes that are right. `calibration` is the
expected calibration error of the scores of given themes. Run: python -m
news_assets_tests.quality.themes
"""

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.taxonomy import lender_of, load_taxonomy

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
GOVBR_TREE = CORPUS / "themes_govbr/common/themes_tree_enriched_full.yaml"

Item = dict[str, str]

FIVE_TOPICS = {
    "business": "economy work agriculture energy transport travel cities",
    "entertainment": "culture",
    "politics": "politics world justice crime defence society education health environment disasters",
    "sport": "sport",
    "tech": "technology science",
}
FOUR_TOPICS = {
    "World": "politics world justice crime defence society disasters culture health education cities",
    "Sports": "sport",
    "Business": "economy work energy transport travel agriculture health.medicines",
    "Sci/Tech": "technology science environment",
}
SIX_TOPICS = {
    "business": "economy work agriculture energy transport travel cities",
    "entertainment": "culture technology.media",
    "health": "health society.women",
    "politics": "politics world justice crime defence society disasters education environment",
    "sports": "sport",
    "technology": "technology science",
}
SECTIONS = {
    "politica": "politics justice",
    "internacional": "world defence",
    "economia": "economy work energy agriculture",
    "cultura_entretenimento": "culture travel",
    "saude": "health",
    "ciencia_tec_ambiente": "science technology environment",
    "esportes": "sport",
    "educacao": "education",
    "cotidiano_local": "crime disasters cities transport society justice.prisons",
}
SENTENCE_TOPICS = {
    "science/technology": "science technology environment energy agriculture",
    "travel": "travel transport",
    "politics": "politics world justice crime defence society economy work cities",
    "sports": "sport",
    "health": "health",
    "entertainment": "culture",
    "geography": "science.earth world.asia world.africa world.europe world.americas disasters",
}
GOVBR = {
    "01": "economy",
    "02": "education",
    "03": "health",
    "04": "crime justice.corruption justice.prisons",
    "05": "environment disasters",
    "06": "science technology politics.government.digital",
    "07": "transport cities",
    "08": "culture",
    "09": "sport",
    "10": "agriculture",
    "11": "economy.companies economy.retail economy.trade",
    "12": "world",
    "13": "justice",
    "14": "work",
    "15": "society",
    "16": "travel",
    "17": "energy",
    "18": "technology.telecoms technology.media",
    "19": "defence",
    "20": "politics",
    "21": "politics.legislature",
    "24": "society.women society.race society.indigenous society.lgbt society.children society.older-disabled",
    "25": "cities.housing cities.planning",
}


@dataclass(frozen=True)
class Case:
    """One labelled set and its floors: of the accuracy, and of the share of given
    themes that are right.
    """

    name: str
    items: Callable[[], list[Item]]
    codes_of: dict[str, str] | None
    tree: Path | None
    floor: float
    given_floor: float


def main() -> int:
    """Print one line per set; return 1 if a score is below its floor."""
    if not CORPUS.exists():
        print("skipped: no corpus beside the repository")
        return 0
    print(
        f"{'set':26}{'items':>6}{'majority':>10}{'accuracy':>10}{'lenient':>9}{'decided':>9}{'of those':>10}"
        f"{'calibration':>13}{'ms':>7}  floors"
    )
    return 1 if not all([_measure(case) for case in CASES]) else 0


def _measure(case: Case) -> bool:
    items = case.items()
    enricher = LocalEnricher(load_taxonomy(case.tree), lender_of(case.tree))
    started = time.process_time()
    results = [
        enricher.enrich(item["title"], item["text"], item["language"]) for item in items
    ]
    ms = (time.process_time() - started) / len(items) * 1000
    found = [
        label_of(path, case.codes_of)
        for path in [result.theme_path for result in results]
    ]
    correct = sum(
        label == item["label"] for label, item in zip(found, items, strict=True)
    )
    lenient = sum(
        label is not None and label in (item["label"], item.get("also"))
        for label, item in zip(found, items, strict=True)
    )
    decided = sum(label is not None for label in found)
    majority = Counter(item["label"] for item in items).most_common(1)[0][1] / len(
        items
    )
    accuracy, of_given = correct / len(items), correct / max(decided, 1)
    given = [
        (result.theme_score, label == item["label"])
        for result, label, item in zip(results, found, items, strict=True)
        if label is not None
    ]
    calibration = calibration_error(
        [score for score, _ in given], [is_right for _, is_right in given]
    )
    is_kept = accuracy >= case.floor and of_given >= case.given_floor
    print(
        f"{case.name:26}{len(items):6}{majority:10.3f}{accuracy:10.3f}{lenient / len(items):9.3f}"
        f"{decided / len(items):9.3f}{of_given:10.3f}{calibration:13.3f}{ms:7.2f}"
        f"  {case.floor:.3f} {case.given_floor:.3f}" + ("" if is_kept else "  BELOW")
    )
    return is_kept


def calibration_error(
    scores: list[float], is_right: list[bool], bins: int = 10
) -> float:
    """Return the mean distance of score and share of right ones over bins of equal
    width, weighted by their items.
    """
    members: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for score, right in zip(scores, is_right, strict=True):
        members[min(int(score * bins), bins - 1)].append((score, right))
    distances = (
        abs(sum(score - right for score, right in found)) for found in members.values()
    )
    return sum(distances) / max(len(scores), 1)


def label_of(path: tuple[str, ...], codes_of: dict[str, str] | None) -> str | None:
    """Return the label that the longest known code of a path stands for; None for no
    theme.
    """
    if not path or codes_of is None:
        return path[0] if path else None
    labels = {
        code: label for label, codes in codes_of.items() for code in codes.split()
    }
    return next((labels[code] for code in reversed(path) if code in labels), None)


def _rows(name: str) -> Iterable[Item]:
    with (CORPUS / name / "dev/data.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _plain(name: str, language: str) -> Callable[[], list[Item]]:
    return lambda: [{"title": "", "language": language, **row} for row in _rows(name)]


def sentences(language: str, code: str) -> Callable[[], list[Item]]:
    return lambda: [
        {"title": "", "language": language, **row}
        for row in _rows("themes_sib200")
        if row["lang"] == code
    ]


def _govbr() -> list[Item]:
    return [
        {
            **row,
            "language": "pt",
            "label": row["theme_reader"],
            "also": row["theme_reader_alt"],
        }
        for row in _rows("themes_govbr")
        if row["theme_reader"]
    ]


CASES = (
    Case("themes_bbc_en", _plain("themes_bbc_en", "en"), FIVE_TOPICS, None, 0.92, 0.92),
    Case(
        "themes_agnews_en",
        _plain("themes_agnews_en", "en"),
        FOUR_TOPICS,
        None,
        0.785,
        0.8,
    ),
    Case(
        "themes_masakhanews_en",
        _plain("themes_masakhanews_en", "en"),
        SIX_TOPICS,
        None,
        0.8,
        0.81,
    ),
    Case(
        "themes_ptnews_sections",
        _plain("themes_ptnews_sections", "pt"),
        SECTIONS,
        None,
        0.65,
        0.67,
    ),
    Case(
        "themes_sib200 pt",
        sentences("pt", "por_Latn"),
        SENTENCE_TOPICS,
        None,
        0.505,
        0.63,
    ),
    Case(
        "themes_sib200 en",
        sentences("en", "eng_Latn"),
        SENTENCE_TOPICS,
        None,
        0.565,
        0.685,
    ),
    Case("themes_govbr, its own tree", _govbr, None, GOVBR_TREE, 0.575, 0.59),
    Case("themes_govbr, built-in", _govbr, GOVBR, None, 0.515, 0.55),
)

if __name__ == "__main__":
    sys.exit(main())
