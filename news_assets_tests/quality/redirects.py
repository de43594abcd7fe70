"""Addresses that only lead to another one, made from lists of redirects: the share that
gives its target.

    python -m news_assets_tests.quality.redirects [-v]

Each rule of ClearURLs and of Brave's debouncing list makes one address. The rules of
`text/url_tables.py` were written with the half `seen`, half of the sites by
hash; `-v` prints the misses of that half only. Exits 1 below a floor, 0 without the
lists.
"""

import base64
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

from news_assets.text.urls import canonical_url, host_of, site_of
from news_assets_tests.quality.urls import CORPUS

TARGETS = (
    "https://www.publicador.com.br/noticias/2026/03/obra-da-ponte?id=7",
    "https://news.example.org/a/b-c-d.html",
)
FLOORS = {"seen": 0.85, "aside": 0.75}

# From the syntax of ClearURLs' patterns to one address that matches.
_STEPS = (
    (r"\\/", "/"),
    (r"^\^", ""),
    (r"^https\?:", "https:"),
    (r"\(\?:\[a-z0-9-\]\+\\\.\)\*\?", "www."),
    (r"\(\?:\\\.\[a-z\]\{2,\}\)\{1,\}", ".com"),
    (r"\(\?:([^()|]*)(?:\|[^()]*)?\)\??", r"\1"),
    (r"\\([.?])", r"\1"),
    (r"(?<=[^/?&])\.\*\??(?=[a-z_]+=)", "/?x=1&"),
    (r"\.\*\??|\[\^[^]]*\]\*\??(?!\))", ""),
)
_CAPTURED = re.compile(r"\([^()]*\).*$")
_INCLUDED = re.compile(r"\*?(?:https?)?\*?://(?:\*\.)?(?P<host>[^/]+)(?P<path>/[^?]*)?")


class Made(NamedTuple):
    """An address made from a rule, and where it leads."""

    url: str
    target: str


def made_from_clear_urls() -> Iterator[Made]:
    """Yield an address for each redirect of ClearURLs that the steps give a matching
    one for.
    """
    providers = json.loads(
        (CORPUS / "common" / "rules" / "clearurls_data.min.json").read_text()
    )["providers"]
    for rules in (provider.get("redirections", ()) for provider in providers.values()):
        for number, rule in enumerate(rules):
            target = TARGETS[number % 2]
            url = rule
            for pattern, replacement in _STEPS:
                url = re.sub(pattern, replacement, url)
            url = f"{_CAPTURED.sub('', url)}{quote(target, safe='')}"
            if re.match(rule, url) and "?" in url and host_of(url):
                yield Made(url, target)


def made_from_brave() -> Iterator[Made]:
    """Yield an address for each pattern of Brave's list whose target is in a parameter."""
    rules = json.loads(
        (CORPUS / "common" / "rules" / "brave_debounce.json").read_text()
    )
    for number, rule in enumerate(rules):
        if "redirect" not in rule["action"] or rule.get("prepend_scheme"):
            continue
        target = TARGETS[number % 2]
        value = (
            base64.b64encode(target.encode()).decode()
            if "base64" in rule["action"]
            else target
        )
        for included in filter(None, map(_INCLUDED.match, rule["include"])):
            place = f"{included['host']}{included['path'] or '/'}".replace("*", "")
            yield Made(
                f"https://{place}?a=1&{rule['param']}={quote(value, safe='')}", target
            )


def is_right(made: Made) -> bool:
    """Whether the target is found, whatever its scheme."""
    return (
        canonical_url(made.url).partition(":")[2]
        == canonical_url(made.target).partition(":")[2]
    )


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    scores: dict[str, list[bool]] = defaultdict(list)
    for made in (*made_from_clear_urls(), *made_from_brave()):
        half = (
            "aside"
            if sha256(site_of(made.url).encode()).digest()[0] % 2 == 0
            else "seen"
        )
        scores[half].append(is_right(made))
        if half == "seen" and not scores[half][-1] and "-v" in sys.argv:
            print(f"  {made.url} -> {canonical_url(made.url)}")
    shares = {half: sum(right) / len(right) for half, right in scores.items()}
    for half, share in sorted(shares.items()):
        print(
            f"{half:6} {sum(scores[half]):4} of {len(scores[half]):4}  {share:.1%}  floor {FLOORS[half]:.1%}"
        )
    return int(any(share < FLOORS[half] for half, share in shares.items()))


if __name__ == "__main__":
    sys.exit(main())
