"""Cuts the site's boilerplate from the blocks of an article: the headline, prompts,
credits, and what follows the end.

A rule that would leave too small a part of the text is not applied, except to teasers
of other articles, which may be most of it. The wordings were collected from news sites
in nine languages.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from news_assets.pipeline.page.markdown import Block, chars_of
from news_assets.text.fingerprint import normal_words

# of the text; a margin for unknown pages: on the labelled ones 0.4 gives the same
# scores
_MIN_KEPT = 0.6
_OPENING_BLOCKS = 8  # a headline further down is another article's
_POINTER_CHARS = 220
_PROMPT_CHARS = 440
_MAX_TRAILING_PROMPTS = 12
_TEASER_CHARS = 100  # of a paragraph; shorter ones that break off are speech
_END_CHARS = 10  # dots with brackets, quotes or arrows after them
_MIN_TEASERS, _TEASER_SHARE = 3, 0.7  # of the blocks from the first teaser on
_STATED_BODY_WORDS = 120  # an articleBody with fewer words is a teaser and is ignored
_IN_BODY = 0.5  # share of a block's word pairs that occur in the stated body

# A pointer to another article, alone on its line or followed by a colon or bar; or a
# prompt after a pictogram.
_READ_MORE = re.compile(
    r"""[\W_]*(?:
      leia\s(?:mais|também|tambem)|veja\s(?:mais|também|tambem)|saiba\smais|confira\stambém|assista|relacionad[ao]s?
    | (?:notícias|matérias|conteúdo)\srelacionad[ao]s?|mais\slidas|continue\slendo
    | read\s(?:more|also|next|the\sfull\sstory)|see\s(?:more|also)|also\sread
    | related(?:\s(?:articles?|stories|news|posts?))?
    | more\s(?:on\sthis|from|stories)|don['’]t\smiss|you\s(?:may|might)\s(?:also\s)?like
    | recommended|popular\son
    | watch|listen|(?:click|tap)\shere|trending|most\s(?:read|popular)
    | lea?\s(?:también|más)|leer\smás|ver\smás|te\spuede\sinteresar
    | lire\s(?:aussi|plus|la\ssuite)|à\slire(?:\saussi)?|voir\saussi
    | lesen\ssie\s(?:auch|mehr)|mehr\szum\sthema|ähnliche\sartikel
    | leggi\sanche|читайте\sтакже|по\sтеме
    )\b\s*(?:$|[:|•…>»–-])
    | [\u2190-\u2bff\U0001f000-\U0001faff]\W*
    (?:confira|acompanhe|siga|clique|receba|assine|inscreva|veja|leia|follow|subscribe|join|sign\sup|read|click)\b""",
    re.IGNORECASE | re.VERBOSE,
)

# The end of a caption: "Hospital regional — Foto: Ana Lima/Jornal".
_CREDITED = re.compile(
    r"(?:^|[—–|(/.-] ?)(?:foto|photo|image|imagem|bild|crédito|credit|reprodução|divulgação)s? ?:"
    r" ?[^.:\n]{2,80}\.?\)?$",
    re.IGNORECASE,
)

# A prompt to comment, follow or subscribe, or a note of rights and credits.
_PROMPT_OR_CREDIT = re.compile(
    r"""[\W_]*(?:
      comentários?\b|comments?\b|\d+\scomments?|kommentare?\b|comentarios?\b|commentaires?\b|comentar\b
    | deixe\s(?:um|seu)\scomentário|(?:leave|post|add)\sa\s(?:comment|reply)|kommentar\sabgeben
    | tell\sus\swhat
    | (?:assine|inscreva-se|cadastre-se|siga(?:-nos)?|acompanhe|compartilhe|clique\saqui|receba)\b
    | (?:sign\sup|subscribe|follow|join|share\sthis|like\sthis|click\shere
        |stay\s(?:informed|on\stop))\b
    | get\s(?:the|our|all)\slatest\b|your\semail\saddress\swill|o\sseu\sendereço\sde\s
    | (?:suscríbete|síguenos|comparte|abonnez-vous|suivez|partager|abonniere|folg(?:e|t|st)|teile)\b
    | copyright|\(c\)|©|ⓒ|todos\sos\sdireitos|all\srights\sreserved|alle\srechte|tous\sdroits
    | todos\slos\sderechos
    | this\scopy\sis\sfor\syour\spersonal|an\serror\s(?:has\s)?occurred
    | this\sarticle\shas\sbeen\ssent
    | publicidade|continua\s(?:depois|após)\sd|advertisement|article\scontent|anzeige|werbung
    | publicité
    | tempo\sde\sleitura|tags?:|share:?$|print$|imprimir$|editing\sby|\(?reporting\sby
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_BROKEN_OFF = re.compile(r"(?:…|\.\.\.)\W*$")

_Rule = Callable[[list[Block]], list[Block]]
TRIMS = ("stated body", "teasers", "headline", "pointers", "prompts")


class Thresholds(NamedTuple):
    """Shares by which readings of a page are compared, and lengths by which headlines
    are found.

    `news_assets_tests/quality/thresholds.py` scores every set with the values that are
    best for the others.
    """

    gap: float = 0.1
    """Long texts missing between the first and last of a reading, per text in it; from
    here on recall mode is tried."""

    agreed: float = 0.9
    """Of one text's word pairs in another: the other holds it."""

    same_title: float = 0.75
    """Of the words of two headlines; those on the page and in its head differ by a word
    or a section name."""

    byline_chars: float = 250
    """Of a block above the headline; longer ones are text. 80 costs .009 on naeb, 700
    costs .006 on trafilatura."""


THRESHOLDS = Thresholds()


def trimmed(
    blocks: Sequence[Block],
    titles: Sequence[str],
    stated_body: str | None,
    thresholds: Thresholds = THRESHOLDS,
    names: Collection[str] = TRIMS,
) -> list[Block]:
    """Return the blocks without boilerplate.

    Args:
        blocks: A reading of the page.
        titles: The forms of the headline on the page.
        stated_body: The text that the page states for machines.
        thresholds: Shares and lengths to compare with.
        names: The rules to apply, of TRIMS.
    """
    kept = list(blocks)
    if stated_body and "stated body" in names:
        kept = _within_stated_body(kept, stated_body, thresholds)
    if "teasers" in names:
        kept = _without_teasers(kept)
    rules: dict[str, _Rule] = {
        "headline": partial(_below_headline, titles=titles, thresholds=thresholds),
        "pointers": _without_pointers,
        "prompts": _without_prompts,
    }
    for name, rule in rules.items():
        if name not in names:
            continue
        shorter = rule(kept)
        if chars_of(shorter) >= _MIN_KEPT * chars_of(kept):
            kept = shorter
    return kept


def _below_headline(
    blocks: list[Block], titles: Iterable[str], thresholds: Thresholds = THRESHOLDS
) -> list[Block]:
    """Cut the headline, and the kickers, bylines and breadcrumbs above it."""
    known: list[set[str]] = []
    for words in map(normal_words, titles):
        if words:
            known.append(set(words))
    for position, block in enumerate(blocks[:_OPENING_BLOCKS]):
        if _is_headline(block, known, thresholds.same_title):
            return blocks[position + 1 :]
        if len(block.markdown) > thresholds.byline_chars:
            break
    return blocks


def _is_headline(block: Block, titles: Iterable[set[str]], same: float) -> bool:
    words = set(block.words)
    for title in titles:
        if len(words & title) >= same * len(words | title):
            return True
    return False


def _without_teasers(blocks: list[Block]) -> list[Block]:
    """Cut the teasers of other articles at the end: most blocks from the first on are
    paragraphs that break off.
    """
    are_teasers = [_is_teaser(block) for block in blocks]
    remaining = sum(are_teasers[1:])  # what begins with a teaser is a listing
    for start in range(1, len(blocks)):
        if remaining < _MIN_TEASERS:
            break
        if are_teasers[start] and remaining >= _TEASER_SHARE * (len(blocks) - start):
            return blocks[:start]
        remaining -= are_teasers[start]
    return blocks


def _is_teaser(block: Block) -> bool:
    if block.kind != "paragraph":
        return False
    if len(block.markdown) < _TEASER_CHARS:
        return False
    return _BROKEN_OFF.search(block.markdown[-_END_CHARS:]) is not None


def _without_pointers(blocks: list[Block]) -> list[Block]:
    """Cut pointers to other articles, and captions with a credit."""
    return [block for block in blocks if not _is_pointer(block)]


def _is_pointer(block: Block) -> bool:
    line = block.markdown
    if block.kind == "table":
        return False
    if len(line) > _POINTER_CHARS:
        return False
    return bool(_READ_MORE.match(line) or _CREDITED.search(line))


def _without_prompts(blocks: list[Block]) -> list[Block]:
    """Cut prompts and credits at the end, and headings without text below them."""
    kept = list(blocks)
    for _ in range(_MAX_TRAILING_PROMPTS):
        if not kept:
            break
        if not _is_prompt(kept[-1]):
            break
        kept.pop()
    return kept


def _is_prompt(block: Block) -> bool:
    if block.kind == "heading":
        return True
    if len(block.markdown) > _PROMPT_CHARS:
        return False
    return _PROMPT_OR_CREDIT.match(block.markdown) is not None


def _within_stated_body(
    blocks: list[Block], stated_body: str, thresholds: Thresholds
) -> list[Block]:
    """Cut what follows JSON-LD's articleBody; return its paragraphs where the blocks
    are another, not longer text.
    """
    stated_words = normal_words(stated_body)
    if len(stated_words) < _STATED_BODY_WORDS:
        return blocks
    stated = set(pairwise(stated_words))
    pairs = [set(pairwise(block.words)) for block in blocks]
    found = len(stated.intersection(chain.from_iterable(pairs))) / len(stated)
    min_chars = _MIN_KEPT * chars_of(blocks)
    if found >= thresholds.agreed:
        within = blocks[: _end_of_stated(pairs, stated)]
        return within if chars_of(within) >= min_chars else blocks
    if found < 1 - thresholds.agreed and len(stated_body) >= min_chars:
        return [Block("paragraph", line) for line in stated_body.split("\n")]
    return blocks


def _end_of_stated(
    pairs: Sequence[set[tuple[str, str]]], stated: set[tuple[str, str]]
) -> int:
    """Return the number of blocks through the last one that the stated body holds."""
    end = 0
    for number, own in enumerate(pairs, start=1):
        if len(own & stated) >= _IN_BODY * len(own) > 0:
            end = number
    return end
