"""Made articles of two themes, and a small taxonomy of them."""

from pathlib import Path

from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.enrich.theme_training import Example
from news_assets.taxonomy import Taxonomy, load_taxonomy

TAXONOMY = """
themes:
- code: health
  label: Health
  keywords: [hospital]
  children:
  - {code: health.nurses, label: Nurses, keywords: [nurse, nursing staff, night shift]}
- code: sport
  label: Sport
  keywords: [match]
"""
WORDS = {
    "health": ("doctor", "ward", "clinic", "fever"),
    "sport": ("goal", "coach", "league", "striker"),
}
EMBEDDING_MODEL = "two dimensions"


def taxonomy_file(folder: Path) -> Path:
    file = folder / "themes.yaml"
    file.write_text(TAXONOMY)
    return file


def taxonomy(folder: Path) -> Taxonomy:
    return load_taxonomy(taxonomy_file(folder))


def text_of(code: str, number: int) -> str:
    """Return a text of a theme with words of its own, none of which is in the taxonomy."""
    words = WORDS[code]
    return f"The {words[number % 4]} and the {words[(number + 1) % 4]} made news in town{number % 7} on day {number}."


def vector_of(code: str, number: int) -> tuple[float, float]:
    return (1.0, 0.1 * (number % 3)) if code == "health" else (0.1 * (number % 3), 1.0)


def examples(of: Taxonomy, count: int = 60) -> list[Example]:
    """Return so many articles, half of each theme."""
    local = LocalEnricher(of)
    codes = [("health", "sport")[number % 2] for number in range(count)]
    return [
        Example(
            str(n),
            local.theme_input("", text_of(code, n // 2), "en"),
            vector_of(code, n // 2),
            code,
        )
        for n, code in enumerate(codes)
    ]
