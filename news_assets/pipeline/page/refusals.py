"""Recognises HTML pages that hold no article: bot checks, consent and log-in pages,
error pages, index pages.

Precision matters more than recall: a refused text is lost, while a kept one can still
be found to be short.
"""

import re
from itertools import islice

from lxml.html import HtmlElement

from news_assets.pipeline.page.index_pages import page_facts, signs_of_index
from news_assets.pipeline.page.links import is_home
from news_assets.pipeline.page.metadata import PageMetadata
from news_assets.records.reading import Outcome, Page
from news_assets.text.words import alphabetic_length

Refusal = tuple[Outcome, str]

MIN_TEXT_CHARS = 60  # two short sentences, on a page that states that it is an article
# on any other page: shorter texts are menus, teasers and error messages
_MIN_UNSTATED_CHARS = 100
_PROSE_LINE_CHARS = 150  # longer than a teaser or a menu entry
_SMALL_CHARS = 1500  # pages with more text are not checked for walls and error messages
_CHALLENGE_CHARS = 400  # pages that only run a bot check have less text
_CHALLENGE = re.compile(
    r"""just\sa\smoment|attention\srequired!|access\sdenied|acesso\snegado|403\sforbidden|captcha|security\scheck
    | are\syou\s(?:a\s)?(?:human|robot)|checking\syour\sbrowser|pardon\sour\sinterruption
    | request\sunsuccessful
    | verif(?:y|ying)\syou\sare\shuman|verifi(?:que|cando)\s(?:se\s)?você\sé\shumano|ddos-guard
    | bot\s(?:detection|protection)""",
    re.IGNORECASE | re.VERBOSE,
)
_CHALLENGE_SCRIPT = re.compile(
    r"cf-browser-verification|cf_chl_|challenge-platform|_Incapsula_Resource|px-captcha|datadome|awswaf|hcaptcha-box"
)
_CONSENT = re.compile(
    r"""before\syou\scontinue|antes\sde\scontinuar|cookie\s(?:consent|wall|settings|preferences|notice)
    | privacy\s(?:consent|gate)|consent\s(?:manager|required)|zustimmung|einwilligung
    | (?:aviso|uso)\sde\scookies""",
    re.IGNORECASE | re.VERBOSE,
)
_LOG_IN = re.compile(
    r"""^\W*(?:log\s?in|sign\s?in|log\son|please\slog\sin.*|entrar|acess(?:ar|e)\s(?:sua\s)?conta|acesso\srestrito
    | faça\s(?:seu\s)?login|autenticação|anmelden|iniciar\ssesión|se\sconnecter
    | connexion)\b\W*(?:$|[|–—-])""",
    re.IGNORECASE | re.VERBOSE,
)
_LOG_IN_PATH = re.compile(
    r"/(?:require_login|login_form|login|signin|sign-in|acl_users)\b", re.IGNORECASE
)
_MISSING = re.compile(
    r"""\b(?:404|410)\b.{0,30}\b(?:not\sfound|error|erro|gone|página)|^\W*(?:erro?r?\W*)?404\b|not\sfound
    | (?:page|article|story|content)\s(?:is\s)?(?:no\slonger\savailable|unavailable)
    | (?:página|conteúdo|notícia)\snão\s(?:foi\s)?encontrad[ao]|página\sinexistente
    | página\sno\sencontrada
    | page\sintrouvable|seite\snicht\sgefunden|pagina\snon\strovata|страница\sне\sнайдена""",
    re.IGNORECASE | re.VERBOSE,
)


def refusal_of(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> Refusal | None:
    """Return outcome and reason of a page without an article; None for an article."""
    if is_home(metadata.canonical_url) and not is_home(page.url):
        return "failed", "redirected to the home page"
    wall = _wall(tree, metadata, text, page) if len(text) <= _SMALL_CHARS else None
    return wall or _refusal_of_text(tree, metadata, text, page)


def _wall(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> Refusal | None:
    title = metadata.title or ""
    names = [name for name in (title, *metadata.titles) if name]
    if any(_CHALLENGE.search(name) for name in names) or _has_challenge(tree, text):
        return "blocked", f"challenge page: {title[:80] or 'without a title'}"
    if any(_CONSENT.search(name) for name in names) and not metadata.is_stated_article:
        return "blocked", f"consent page: {title[:80]}"
    if _is_log_in(tree, names, page.final_url, metadata):
        return "blocked", f"log-in page: {title[:80]}"
    return _refusal_of_missing(metadata, names, text)


def _has_challenge(tree: HtmlElement, text: str) -> bool:
    if len(text) > _CHALLENGE_CHARS:
        return False
    scripts = (
        element.get("src") or element.text or ""
        for element in tree.iter("script", "form", "iframe")
    )
    return any(_CHALLENGE_SCRIPT.search(script) for script in scripts)


def _is_log_in(
    tree: HtmlElement, names: list[str], final_url: str, metadata: PageMetadata
) -> bool:
    has_password = tree.find(".//input[@type='password']") is not None
    if any(_LOG_IN.search(name) for name in names):
        return has_password or not metadata.is_stated_article
    return has_password and _LOG_IN_PATH.search(final_url) is not None


def _refusal_of_missing(
    metadata: PageMetadata, names: list[str], text: str
) -> Refusal | None:
    """Return the refusal of an error page sent with status 200; its text may be little
    more than the menu.
    """
    if metadata.is_stated_article or metadata.article_type:
        return None
    if any(_MISSING.search(name) for name in names):
        return "failed", f"error page: {metadata.title or names[0]}"[:120]
    if metadata.published_at is None and (match := _MISSING.search(text)):
        return "failed", f"error page: {match[0]}"
    return None


def _refusal_of_text(
    tree: HtmlElement, metadata: PageMetadata, text: str, page: Page
) -> Refusal | None:
    states = (metadata.is_stated_article, metadata.article_type, metadata.published_at)
    is_article = any(states) or len(list(islice(tree.iter("article"), 2))) == 1
    if alphabetic_length(text) < (
        MIN_TEXT_CHARS if is_article else _MIN_UNSTATED_CHARS
    ):
        if target := _refresh_target(tree):
            return "failed", f"only redirects to {target}"
        return "failed", f"too little text: {len(text)} characters"
    if is_home(page.final_url) and not is_article and not _is_prose(text):
        return "skipped", "home page, no article"
    facts = page_facts(
        tree, metadata, page.final_url, is_listed=bool(page.listed_title)
    )
    if facts and (signs := signs_of_index(facts)):
        return "skipped", f"index page, no article: {', '.join(signs)}"
    return None


def _refresh_target(tree: HtmlElement) -> str | None:
    """Return the URL of a `<meta http-equiv=refresh>`."""
    for tag in tree.iter("meta"):
        content = tag.get("content") or ""
        if (
            tag.get("http-equiv") or ""
        ).lower() == "refresh" and "url" in content.lower():
            return content.partition("=")[2].strip(" '\"")[:200]
    return None


def _is_prose(text: str) -> bool:
    """Whether at least half the text is in lines too long for teasers and menus."""
    return 2 * sum(
        len(line)
        for line in text.splitlines()
        if alphabetic_length(line) > _PROSE_LINE_CHARS
    ) >= len(text)
