"""Reads the text of a page with trafilatura, and chooses between its readings by how
they agree with the page's long texts and each other. The site's boilerplate is cut from
the blocks of each: the headline, prompts, credits, and what follows the end. A rule that
would leave too small a part of the text is not applied, except to teasers of other
articles, which may be most of it. The wordings were collected from news sites in nine
languages.

trafilatura reads the first container of an article only, so the containers of an
article that advertisements, pictures or forms interrupt are joined before.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from lxml.etree import XPath, _Element
from lxml.html import HtmlElement

from news_assets.pipeline.page.markdown import Block, chars_of, markdown_of
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


Mode = Literal["default", "recall"]
_Read = Callable[[Mode], list[Block]]

_SHORT_TEXT_CHARS = 250  # trafilatura's own bound: shorter texts are rarely whole
# of a text on the page that is a sentence, not a menu entry, caption or byline
LONG_CHARS = 80
_NO_TEXT = ("script", "style", "noscript", "template", "textarea", "iframe")
_LONG_TEXTS = XPath(
    "//body//text()[string-length() >="
    f" {LONG_CHARS}][not({' or '.join(f'parent::{tag}' for tag in _NO_TEXT)})]",
    smart_strings=False,
)


def long_texts(tree: HtmlElement) -> list[str]:
    """Return the page's texts of at least LONG_CHARS without markup in them, in order."""
    texts = (" ".join(text.split()) for text in _LONG_TEXTS(tree))
    return [text for text in texts if len(text) >= LONG_CHARS]


def best_reading(
    read: _Read, long: Sequence[str], thresholds: Thresholds = THRESHOLDS
) -> list[Block]:
    """Return the blocks of trafilatura's default reading, or of its recall mode.

    That is read where the default is short, or leaves out long texts of the page
    between its first and last. It counts if it is longer and holds the default reading.
    """
    blocks = read("default")
    if chars_of(blocks) >= _SHORT_TEXT_CHARS and _gap(blocks, long) <= thresholds.gap:
        return blocks
    other = read("recall")
    if chars_of(other) <= chars_of(blocks):
        return blocks
    if _share_of(blocks, other) >= thresholds.agreed:
        return other
    return blocks


def _share_of(blocks: Sequence[Block], other: Sequence[Block]) -> float:
    """Return the share of the word pairs of some blocks that are in other ones; 1 for
    blocks without words.
    """
    own = _word_pairs(blocks)
    if own:
        return len(own & _word_pairs(other)) / len(own)
    return 1.0


def _word_pairs(blocks: Sequence[Block]) -> set[tuple[str, str]]:
    return set(pairwise(normal_words(markdown_of(blocks))))


def _gap(blocks: list[Block], long: Sequence[str]) -> float:
    """Return the length of the long texts between the first and last that the blocks
    hold, but not held, as a share.
    """
    text = " ".join(markdown_of(blocks).split())
    held = missing = 0
    missing_since_held = 0
    for one in long:
        if one in text:
            held += len(one)
            missing += missing_since_held
            missing_since_held = 0
        elif held:  # what precedes the first held text is not between two
            missing_since_held += len(one)
    return missing / held if held else 0.0


# --- the containers of an interrupted article -----------------------------------------

_NAMED = re.compile(
    r"(?:article|story|entry|post|body|content)[-_]{0,2}(?:body|content|text|container)",
    re.IGNORECASE,
)
_MIN_PARAGRAPHS = 3  # of some length, in each container; teasers have one or two
_PARAGRAPH_CHARS = 80
_MAX_CONTAINERS, _MAX_KINDS = 20, 10  # of one tag and class; tags and classes
_HEADING_BEFORE = XPath("preceding::*[self::h1 or self::h2][1]")


def join_containers(tree: HtmlElement) -> bool:
    """Move what is in further containers of the article to the end of its first one, in
    place; whether there are any.

    They have the same tag and class, and no headline between them, which another
    article has.
    """
    groups = list(filter(_are_of_one_article, _alike(tree)))
    for first, *others in groups:
        for other in others:
            first.extend(list(other))
    return bool(groups)


def _alike(tree: HtmlElement) -> list[list[HtmlElement]]:
    """Return the containers of long paragraphs that have one tag and class."""
    groups: dict[tuple[str, str], list[HtmlElement]] = {}
    for element in tree.iter("div", "section"):
        name = element.get("class", "")
        if not _NAMED.search(name):
            continue
        if _has_paragraphs(element):
            groups.setdefault((str(element.tag), name), []).append(element)
    several = [group for group in groups.values() if 1 < len(group) <= _MAX_CONTAINERS]
    return several[:_MAX_KINDS]


def _has_paragraphs(element: HtmlElement) -> bool:
    long = 0
    for child in element:
        if child.tag == "p":
            long += len("".join(child.itertext())) >= _PARAGRAPH_CHARS
    return long >= _MIN_PARAGRAPHS


def _are_of_one_article(group: list[HtmlElement]) -> bool:
    first, *others = group
    before = _heading_before(first)
    for other in others:
        if other.find(".//h1") is not None:
            return False
        if _is_within(other, group):
            return False
        heading = _heading_before(other)
        if heading is None:
            continue
        if heading is before:
            continue
        if not _is_within(heading, group):  # between two containers
            return False
    return True


def _heading_before(element: HtmlElement) -> _Element | None:
    return next(iter(_HEADING_BEFORE(element)), None)


def _is_within(element: _Element, group: list[HtmlElement]) -> bool:
    return any(above in group for above in element.iterancestors())
