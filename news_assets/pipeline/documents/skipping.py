"""Recognises documents that are not worth reading: bundles of public comments, and
boilerplate.
"""

import re
from collections.abc import Sequence

_SEPARATORS = re.compile(r"[\W_]+")
_NAME_CHARS = 300
_COMMENTS = re.compile(
    r"""\b(?:
      (?:public|written|e|electronic|citizens?|community|email|emailed)\x20?comments?\b(?!\x20(?:period|on|card|form)\b)
    | (?:comment|support|opposition|protest)\x20letters | letters?\x20of\x20(?:support|opposition|protest)
    | comments?\x20(?:letters?|received|submitted|packet|compilation) | public\x20correspondence
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BOILERPLATE = re.compile(
    r"""\b(?:
      how\x20to\x20(?:participate|watch|attend|join|view|submit|address)
    | participation\x20(?:instructions|guide(?:lines)?)
    | (?:meeting|zoom|webex|teleconference)\x20(?:instructions|guidelines)
    | speaker\x20(?:card|slip|form|request\x20form) | public\x20comment\x20(?:card|form|instructions)
    | parking\x20(?:map|information|instructions) | land\x20acknowledge?ment
    | (?:ada|accessibility)\x20(?:notice|statement) | rules\x20of\x20decorum
    | parcel\x20(?:table|list|numbers) | (?:form\x20)?w\x20?9(?:\x20form)? | ceqa\x20(?:forms?|checklist|exemption)
    | notice\x20of\x20exemption | master\x20(?:services?\x20|purchas(?:e|ing)\x20)?agreement
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# A name with one of these is that of business about comments: "Public Comment Policy
# Ordinance".
_BUSINESS = re.compile(
    r"\b(?:ordinance|resolution|policy|amend(?:ment|ing)|staff\x20report|contract)\b",
    re.IGNORECASE,
)
_MAIL_HEADERS = tuple(
    re.compile(rf"^[ \t]*{name}[ \t]*:", re.IGNORECASE | re.MULTILINE)
    for name in ("from", "to", "subject")
)
_MIN_MAILS = 8  # of a bundle; a staff report may have a few as evidence
_MAILS_RATIO = 0.4  # of its pages: long messages take several


def skip_by_name(name: str) -> str | None:
    """Return why a document is not read at all, by its name or address; None for one
    that is read.
    """
    words = _SEPARATORS.sub(" ", name[-_NAME_CHARS:])
    if _BUSINESS.search(words):
        return None
    if _BOILERPLATE.search(words):
        return "boilerplate, by its name"
    return "public comments, by its name" if _COMMENTS.search(words) else None


def skip_by_text(texts: Sequence[str]) -> str | None:
    """Return why a document's text is not kept: most of its pages are messages of
    citizens; None for others.
    """
    mails = sum(
        1 for text in texts if all(header.search(text) for header in _MAIL_HEADERS)
    )
    if mails < _MIN_MAILS or mails < _MAILS_RATIO * len(texts):
        return None
    return f"public comments: {mails} of {len(texts)} pages are messages"
