"""Answers that are no article, by what they are: not HTML, a wall, a log-in page, an error that says 200.

A page or what was read off it enters; None, or outcome and reason, leave. Precision counts here: a text that is refused
is lost, one that is kept can still be seen to be short.
"""

import re

from lxml.html import HtmlElement

from news_assets.pipeline.page.links import is_home
from news_assets.pipeline.page.metadata import PageMetadata
from news_assets.records import Outcome, Page

Refusal = tuple[Outcome, str]

_MAGIC = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"RIFF", "media file"),
    (b"\xd0\xcf\x11\xe0", "Office document"),
)
_HTML_TYPES = (
    "text/html",
    "application/xhtml",
    "text/plain",
    "application/octet-stream",
    "application/xml",
    "text/xml",
)
_FEED_OR_JSON = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<(rss|feed|rdf:RDF|urlset|sitemapindex)\b|[{\[])"
)
_SNIFFED_BYTES = 512

_SMALL_CHARS = 1500  # of text; a page with more of it is not a wall, whatever its title says
_CHALLENGE = re.compile(
    r"""just\sa\smoment|attention\srequired!|access\sdenied|acesso\snegado|403\sforbidden|captcha|security\scheck
    | are\syou\s(?:a\s)?(?:human|robot)|checking\syour\sbrowser|pardon\sour\sinterruption|request\sunsuccessful
    | verif(?:y|ying)\syou\sare\shuman|verifi(?:que|cando)\s(?:se\s)?você\sé\shumano|ddos-guard
    | bot\s(?:detection|protection)""",
    re.IGNORECASE | re.VERBOSE,
)
_CHALLENGE_MARK = re.compile(
    r"cf-browser-verification|cf_chl_|challenge-platform|_Incapsula_Resource|px-captcha|datadome|awswaf|hcaptcha-box"
)
_CONSENT = re.compile(
    r"""before\syou\scontinue|antes\sde\scontinuar|cookie\s(?:consent|wall|settings|preferences|notice)
    | privacy\s(?:consent|gate)|consent\s(?:manager|required)|zustimmung|einwilligung|(?:aviso|uso)\sde\scookies""",
    re.IGNORECASE | re.VERBOSE,
)
_LOG_IN = re.compile(
    r"""^\W*(?:log\s?in|sign\s?in|log\son|please\slog\sin.*|entrar|acess(?:ar|e)\s(?:sua\s)?conta|acesso\srestrito
    | faça\s(?:seu\s)?login|autenticação|anmelden|iniciar\ssesión|se\sconnecter|connexion)\b\W*(?:$|[|–—-])""",
    re.IGNORECASE | re.VERBOSE,
)
_LOG_IN_PATH = re.compile(r"/(?:require_login|login_form|login|signin|sign-in|acl_users)\b", re.IGNORECASE)
_MISSING = re.compile(
    r"""\b(?:404|410)\b.{0,30}\b(?:not\sfound|error|erro|gone|página)|^\W*(?:erro?r?\W*)?404\b|not\sfound
    | (?:page|article|story|content)\s(?:is\s)?(?:no\slonger\savailable|unavailable)
    | (?:página|conteúdo|notícia)\snão\s(?:foi\s)?encontrad[ao]|página\sinexistente|página\sno\sencontrada
    | page\sintrouvable|seite\snicht\sgefunden|pagina\snon\strovata|страница\sне\sнайдена""",
    re.IGNORECASE | re.VERBOSE,
)


def refusal_of_bytes(page: Page) -> Refusal | None:
    """Return why an answer cannot be read as HTML, by its first bytes and its type."""
    head = page.body[:_SNIFFED_BYTES]
    kind = next((name for mark, name in _MAGIC if head.startswith(mark)), None)
    media_type = page.content_type.partition(";")[0].strip().lower()
    if not page.body.strip():
        return "failed", "empty answer: 0 bytes" if not page.body else "empty answer: only white space"
    if kind == "PDF" or (not kind and media_type == "application/pdf"):
        return "skipped", "PDF: not read yet"
    if kind:
        return "skipped", f"{kind}: not HTML"
    if media_type and not media_type.startswith(_HTML_TYPES) and not _looks_like_html(head):
        return "skipped", f"{media_type}: not HTML"
    if match := _FEED_OR_JSON.match(head):
        return "skipped", f"{match[1].decode() if match[1] else 'JSON'}: not HTML"
    return None


def _looks_like_html(head: bytes) -> bool:
    start = head.lower()
    return b"<html" in start or b"<!doctype html" in start


def refusal_of_page(tree: HtmlElement, metadata: PageMetadata, text: str, page: Page) -> Refusal | None:
    """Return why a readable page is no article: a wall, a log-in form, a missing page, a home page."""
    if is_home(metadata.canonical_url) and not is_home(page.url):
        return "failed", "redirected to the home page"
    if len(text) > _SMALL_CHARS:
        return None
    title = metadata.title or ""
    names = [name for name in (title, *metadata.titles) if name]
    if any(_CHALLENGE.search(name) for name in names) or _has_challenge(tree, text):
        return "blocked", f"challenge page: {title[:80] or 'without a title'}"
    if any(_CONSENT.search(name) for name in names) and not metadata.is_stated_article:
        return "blocked", f"consent page: {title[:80]}"
    if _is_log_in(tree, names, page.final_url, metadata):
        return "blocked", f"log-in page: {title[:80]}"
    return _refusal_of_missing(metadata, names, text)


def _refusal_of_missing(metadata: PageMetadata, names: list[str], text: str) -> Refusal | None:
    """Return the refusal of an error page that came with status 200; its text may be little more than the menu."""
    if metadata.is_stated_article or metadata.article_type:
        return None
    if any(_MISSING.search(name) for name in names):
        return "failed", f"says it is missing: {metadata.title or names[0]}"[:120]
    if metadata.published_at is None and (match := _MISSING.search(text)):
        return "failed", f"says it is missing: {match[0]}"
    return None


def _has_challenge(tree: HtmlElement, text: str) -> bool:
    """Whether an all but empty page runs a bot check."""
    if len(text) > 400:
        return False
    marks = (script.get("src") or script.text or "" for script in tree.iter("script", "form", "iframe"))
    return any(_CHALLENGE_MARK.search(mark) for mark in marks)


def _is_log_in(tree: HtmlElement, names: list[str], final_url: str, metadata: PageMetadata) -> bool:
    has_password = tree.find(".//input[@type='password']") is not None
    if any(_LOG_IN.search(name) for name in names):
        return has_password or not metadata.is_stated_article
    return has_password and _LOG_IN_PATH.search(final_url) is not None


def forwards_to(tree: HtmlElement) -> str | None:
    """Return what a `<meta http-equiv=refresh>` leads to."""
    for tag in tree.iter("meta"):
        content = tag.get("content") or ""
        if (tag.get("http-equiv") or "").lower() == "refresh" and "url" in content.lower():
            return content.partition("=")[2].strip(" '\"")[:200]
    return None
