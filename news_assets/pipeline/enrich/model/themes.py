"""The themes that a model may choose from.

The whole taxonomy where it fits, else one level after the other.
"""

from collections.abc import Sequence

from news_assets.taxonomy.taxonomy_files import Taxonomy, Theme

# Some 8,000 tokens: codes and labels have 2.9 characters a token. The list is the same
# for all articles, so providers bill most of it at the price of cached tokens.
MAX_LIST_CHARS = 23_000


def is_descended(taxonomy: Taxonomy) -> bool:
    """Whether the taxonomy is too large for one list, so that a first call chooses the
    branch.
    """
    return not _fits(list(taxonomy.themes.values()))


def upper_themes(taxonomy: Taxonomy) -> list[Theme]:
    """Return the themes of as many levels as fit, parents before their children.

    They are those of level 1 at least.
    """
    return _fitting(list(taxonomy.themes.values()))


def themes_below(taxonomy: Taxonomy, chosen: str | None) -> list[Theme]:
    """Return the themes to choose from after the first call chose one.

    They are the branch of its theme of level 1, else its own; the upper themes where it
    chose none.
    """
    if chosen is None:
        return upper_themes(taxonomy)
    path = taxonomy.path(chosen)
    branch = _branch(taxonomy, path[0])
    return branch if _fits(branch) else _fitting(_branch(taxonomy, chosen))


def list_text(themes: Sequence[Theme]) -> str:
    """Return the list as it is sent.

    It has indented codes and labels, with descriptions where they fit.
    """
    described = _text(themes, has_descriptions=True)
    return (
        described
        if len(described) <= MAX_LIST_CHARS
        else _text(themes, has_descriptions=False)
    )


def _branch(taxonomy: Taxonomy, code: str) -> list[Theme]:
    return [
        theme for theme in taxonomy.themes.values() if code in taxonomy.path(theme.code)
    ]


def _fitting(themes: Sequence[Theme]) -> list[Theme]:
    for deepest in sorted({theme.level for theme in themes}, reverse=True):
        found = [theme for theme in themes if theme.level <= deepest]
        if _fits(found):
            return found
    return [theme for theme in themes if theme.level == 1]


def _fits(themes: Sequence[Theme]) -> bool:
    return len(_text(themes, has_descriptions=False)) <= MAX_LIST_CHARS


def _text(themes: Sequence[Theme], *, has_descriptions: bool) -> str:
    return "\n".join(
        f"{'  ' * (theme.level - 1)}{theme.code} {_named(theme, has_descriptions)}"
        for theme in themes
    )


def _named(theme: Theme, has_descriptions: bool) -> str:
    label = theme.label("en")
    described = [texts[0] for texts in theme.descriptions.values() if texts]
    return f"{label}: {described[0]}" if described and has_descriptions else label
