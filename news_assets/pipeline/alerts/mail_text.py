"""What mails say, in the reader's language: articles with title, publisher, time, place of a
meeting and summary; and how a subscription is confirmed and ended. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from news_assets.text.dates import zone_info

_MAX_TITLE_CHARS: Final = 300
_MAX_SUMMARY_CHARS: Final = 600
_PORTUGUESE: Final = {
    "{title}: 1 new article": "{title}: 1 artigo novo",
    "{title}: {count} new articles": "{title}: {count} artigos novos",
    "Please confirm: news about {title}": "Confirme, por favor: notícias sobre {title}",
    "{title}: 1 change": "{title}: 1 mudança",
    "{title}: {count} changes": "{title}: {count} mudanças",
    "Cancelled": "Cancelada",
    "Moved": "Mudou de hora ou lugar",
    "New on the agenda": "Novo na pauta",
    "New document": "Documento novo",
    "Voted on": "Votado",
    "Edited silently": "Editado em silêncio",
    "Withdrawn": "Retirado",
    "Meeting: {when}": "Reunião: {when}",
    "{count} publishers: {names}": "{count} órgãos: {names}",
    "at once": "na hora",
    "daily": "uma vez por dia",
    "weekly": "uma vez por semana",
    "This address was entered to get mails about: {title} ({when}).": (
        "Este endereço foi informado para receber e-mails sobre: {title} ({when})."
    ),
    "Confirm it within {hours} hours:": "Confirme em até {hours} horas:",
    "If it was not you, do nothing: there will be no mails, and this address is deleted.": (
        "Se não foi você, não faça nada: não haverá e-mails, e este endereço será apagado."
    ),
    "You get this because you subscribed to: {title}. End it, with one click:": (
        "Você recebe isto porque assinou: {title}. Para encerrar, com um clique:"
    ),
}


CHANGES: Final = {
    "cancelled": "Cancelled",
    "moved": "Moved",
    "agenda": "New on the agenda",
    "document": "New document",
    "voted": "Voted on",
    "edited": "Edited silently",
    "withdrawn": "Withdrawn",
}


def _phrase(text: str, language: str, **values: object) -> str:
    """Return an English text in a language, with the values of its {names}."""
    found = _PORTUGUESE.get(text, text) if language == "pt" else text
    return found.format(**values)


_SUBJECTS: Final = {
    "articles": ("{title}: 1 new article", "{title}: {count} new articles"),
    "changes": ("{title}: 1 change", "{title}: {count} changes"),
}


def subject_of(payload: Mapping[str, Any], language: str = "en") -> str:
    """Return the subject of a message about articles or changes, or of a mail that asks
    to confirm.
    """
    title = payload["title"]
    if payload["type"] not in _SUBJECTS:
        return _phrase("Please confirm: news about {title}", language, title=title)
    one, several = _SUBJECTS[payload["type"]]
    count = len(payload["articles"])
    if count == 1:
        return _phrase(one, language, title=title)
    return _phrase(several, language, title=title, count=count)


def articles_text(articles: Sequence[Mapping[str, Any]], language: str = "en") -> str:
    """Return what a mail says of these articles, a block for each."""
    return "\n\n".join(_block(one, language) for one in articles)


def _block(article: Mapping[str, Any], language: str) -> str:
    facts = [article.get("publisher") or article["agency"]]
    if article["published_at"]:
        facts.append(_local(article["published_at"], article.get("timezone")))
    title = _cut(article["title"], _MAX_TITLE_CHARS)
    if change := article.get("change"):
        title = f"{_phrase(CHANGES[change], language)}: {title}"
    lines = [title, " · ".join(facts)]
    if (story := article.get("story")) and story["publisher_count"] > 1:
        lines.append(_publishers_of(story, language))
    if meeting := article.get("meeting"):
        when = ", ".join(filter(None, (meeting["when"], meeting["place"])))
        lines.append(_phrase("Meeting: {when}", language, when=when))
    if article["summary"]:
        lines.append(_cut(article["summary"], _MAX_SUMMARY_CHARS))
    lines.append(article["url"])
    return "\n".join(lines)


def _publishers_of(story: Mapping[str, Any], language: str) -> str:
    names = _cut(", ".join(story["publishers"]), _MAX_TITLE_CHARS)
    text = "{count} publishers: {names}"
    return _phrase(text, language, count=story["publisher_count"], names=names)


def _local(published_at: str, timezone: str | None) -> str:
    at = datetime.fromisoformat(published_at).astimezone(zone_info(timezone or "UTC"))
    return f"{at:%Y-%m-%d %H:%M} {at:%Z}"


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def confirmation_text(
    title: str, when: str, hours: int, address: str, language: str
) -> str:
    """Return the text of the mail with the address that confirms a subscription."""
    reason = _phrase(
        "This address was entered to get mails about: {title} ({when}).",
        language,
        title=title,
        when=_phrase(when.replace("_", " "), language),
    )
    confirm = _phrase("Confirm it within {hours} hours:", language, hours=hours)
    otherwise = _phrase(
        "If it was not you, do nothing: there will be no mails, and this address is deleted.",
        language,
    )
    return f"{reason}\n\n{confirm}\n{address}\n\n{otherwise}"


def footer(title: str, address: str, language: str) -> str:
    """Return the lines that end a mail to a subscriber."""
    text = "You get this because you subscribed to: {title}. End it, with one click:"
    return f"-- \n{_phrase(text, language, title=title)}\n{address}"
