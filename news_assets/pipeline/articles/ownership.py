"""Decides whose site an address is on: a publisher's own, one that several share,
another's, or nobody's of the desks.

An agency's addresses are those of its sources and the `hosts` that its desk file
declares for it. A site is a registrable domain, or a host of a platform
(`text.urls.site_of`). Where several agencies have addresses on one site, the nearest
host counts, and on one host the path: agencies of www.gov.br hold `/mec/...` and
`/saude/...`.

What a listing says of its own agency's addresses is the publisher's word. Of another's
address it is a mention: neither its text nor its times are stored.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from news_assets.records.articles import AddressOwner
from news_assets.records.desks import Agency, Desk
from news_assets.text.urls import host_of, site_of

# Parts of feeds' addresses that say nothing of the publisher.
_OF_FEEDS: Final = frozenset({"atom", "feed", "feeds", "index", "rss", "xml"})
_RANKS: Final[dict[str, int]] = {"own": 0, "shared": 1, "": 1, "nobody": 2, "other": 3}

_AgencyId = tuple[str, str]  # keys of desk and agency


@dataclass(frozen=True, slots=True)
class _Claim:
    """An address of an agency: its host with port, and the directories and file name of
    its path.
    """

    agency: _AgencyId
    host: str
    segments: tuple[str, ...]


def owner_rank(owner: str) -> int:
    """Return the place of an article among copies by whose address it has: the
    publisher's own first.
    """
    return _RANKS.get(owner, _RANKS[""])


class Owners:
    """Whose site an address is on, among the agencies of some desks."""

    def __init__(self, agencies: Iterable[tuple[_AgencyId, Agency]]) -> None:
        self._by_site: dict[str, list[_Claim]] = defaultdict(list)
        for key, agency in agencies:
            urls = [source.url for source in agency.sources]
            for host in agency.hosts:
                urls.append(f"https://{host}/")
            for url in dict.fromkeys(urls):
                claim = _Claim(key, _host(url), _segments(url))
                self._by_site[_site(url)].append(claim)

    @classmethod
    def of(cls, desk: Desk) -> "Owners":
        """Return the owners among a desk's agencies and those of the desks beside it."""
        agencies: list[tuple[_AgencyId, Agency]] = []
        for agency in desk.agencies:
            agencies.append(((desk.key, agency.key), agency))
        for desk_key, agency in desk.neighbours:
            agencies.append(((desk_key, agency.key), agency))
        return cls(agencies)

    def owner(self, desk: str, agency: str, *urls: str) -> AddressOwner:
        """Return to whom these addresses of one article belong, from the side of an
        agency; of several, the weakest.
        """
        found = [self._owner((desk, agency), url) for url in urls]
        return max(found, key=owner_rank)

    def is_same_owner(self, url: str, other: str) -> bool:
        """Return whether two addresses on one site belong to the same agencies."""
        return self._holders(url) == self._holders(other)

    def _owner(self, agency: _AgencyId, url: str) -> AddressOwner:
        holders = self._holders(url)
        if not holders:
            return "nobody"
        if agency not in holders:
            return "other"
        return "own" if len(holders) == 1 else "shared"

    def _holders(self, url: str) -> set[_AgencyId]:
        claims = self._by_site.get(_site(url), [])
        if len(_agencies(claims)) > 1:
            claims = _of_nearest_host(claims, _host(url))
        if len(_agencies(claims)) > 1:
            claims = _of_path(claims, _segments(url))
        return _agencies(claims)


def _agencies(claims: Iterable[_Claim]) -> set[_AgencyId]:
    return {claim.agency for claim in claims}


def _of_nearest_host(claims: list[_Claim], host: str) -> list[_Claim]:
    """Return the claims on this host, else on the longest name that it is below, else
    all.
    """
    nearest: list[_Claim] = []
    longest = 0
    for claim in claims:
        if not f".{host}".endswith(f".{claim.host}"):
            continue
        if len(claim.host) > longest:
            nearest = []
            longest = len(claim.host)
        if len(claim.host) == longest:
            nearest.append(claim)
    return nearest or claims


def _of_path(claims: list[_Claim], segments: tuple[str, ...]) -> list[_Claim]:
    """Return the claims with the longest common beginning, else those with the first
    segment that only they have.

    The second finds the holder of g1.globo.com/sp/... by its feed at /rss/g1/sp/.
    Without either, the address belongs to those whose feed is at the top of the host,
    else to all.
    """
    common = {claim: _common(claim.segments, segments) for claim in claims}
    if longest := max(common.values()):
        return [claim for claim in claims if common[claim] == longest]
    for segment in segments:
        having = [claim for claim in claims if segment in claim.segments]
        if len(_agencies(having)) == 1:
            return having
    return [claim for claim in claims if not claim.segments] or claims


def _common(segments: tuple[str, ...], others: tuple[str, ...]) -> int:
    """Return how many segments two paths have in common from the first one on."""
    count = 0
    for one, other in zip(segments, others, strict=False):
        if one != other:
            break
        count += 1
    return count


def _site(url: str) -> str:
    """Return the site of an address; of an IP address or local name with its port,
    where each is another server.
    """
    site = site_of(url)
    if site == host_of(url):
        return _host(url)
    return site


def _host(url: str) -> str:
    host = host_of(url).removeprefix("www.")
    try:
        port = urlsplit(url).port
    except ValueError:
        port = None
    if port in (None, 80, 443):
        return host
    return f"{host}:{port}"


def _segments(url: str) -> tuple[str, ...]:
    """Return the parts of the path without extensions, in lower case, except those of
    feeds in general.
    """
    try:
        path = urlsplit(url).path
    except ValueError:
        return ()
    segments: list[str] = []
    for part in path.split("/"):
        segment = part.partition(".")[0].lower()
        if segment and segment not in _OF_FEEDS:
            segments.append(segment)
    return tuple(segments)
