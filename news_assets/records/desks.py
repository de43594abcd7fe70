"""A desk file as it is used: desks, agencies, sources and their rules; and how long
rows are kept.
"""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final, Literal

Pace = Literal["adaptive", "civic", "signals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorLimits:
    """Limits that all hosts of one kind of source share.

    At most `slots` requests at a time; each slot pauses `delay_s` between two requests,
    and `break_s` before another host.
    """

    kind: str
    slots: int = 1
    delay_s: float = 0.0
    break_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the listing and the articles of a source are requested.

    `token_env` names the environment variable of a token, which is sent as
    `token_header`, or as the parameter `token_param` of the address, to the origin of
    `token_url` only. `delay_s` is the pause between two requests to a host, if it is
    longer than NEWS_HOST_DELAY_S.
    """

    headers: tuple[tuple[str, str], ...] = ()
    token_env: str | None = None
    token_header: str = "Authorization"
    token_param: str = ""
    token_url: str = ""
    proxy: str | None = None
    delay_s: float = 0.0
    vendor: VendorLimits | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selectors:
    """CSS selectors of a listing page (kind `html_listing`), as the desk file states
    them; an empty one is left out.

    `item`, `next` and `empty` are applied to the page, the others within an item.
    `empty` matches what a page without items shows.
    """

    item: str
    link: str = ""
    title: str = ""
    date: str = ""
    summary: str = ""
    next: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRule:
    """CSS selectors for the pages of an agency's articles from the day `since` on; an
    empty one is left out.

    `content` matches what holds the text, `remove` what is dropped before anything is
    read, `date` the time of publication.
    """

    since: date | None = None
    content: str = ""
    remove: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One address that is polled, every `every_minutes` or else at its pace
    (`pipeline/schedule.py`).

    `max_minutes` bounds the learnt interval in working hours. `is_civic`: it lists
    meetings, not articles. `checks_documents`: after each nightly pass, HEAD requests
    find documents of coming meetings whose file changed.
    """

    source_id: str
    desk: str
    agency: str
    kind: str
    url: str
    timezone: str
    language: str
    every_minutes: int | None = None
    max_minutes: int | None = None
    pace: Pace = "adaptive"
    access: Access = Access()
    selectors: Selectors | None = None
    is_civic: bool = False
    checks_documents: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agency:
    """A public body, newsroom or city: the first partition dimension.

    `type` is its category, as worded in the desk file. `parent` is the key of its
    parent agency, in this desk or not. `hosts` are further hosts of its articles, each
    with a path where others share the host. `place` is its number in the desk file: of
    copies that one run lists first, the original is the one of the agency that comes
    first there.
    """

    key: str
    name: str
    timezone: str
    language: str
    sources: tuple[Source, ...]
    type: str | None = None
    parent: str | None = None
    is_active: bool = True
    reason: str | None = None
    since: date | None = None
    page_rules: tuple[PageRule, ...] = ()
    hosts: tuple[str, ...] = ()
    place: int = field(default=0, compare=False)


_BRIEF_ITEMS: Final = (
    *(
        "receive and file",
        "correspondence",
        "announcements",
        "meeting schedule",
        "meeting calendar",
        "payroll",
    ),
    *(
        "warrant register",
        "payment of claims",
        "license",
        "licenses",
        "licence",
        "licences",
        "permit renewal",
    ),
    *(
        "special event",
        "street closure",
        "donation",
        "donations",
        "travel",
        "surplus property",
        "excused absence",
    ),
    "extension of time",
)
_FULL_ITEMS: Final = (
    *(
        "ordinance",
        "ordinances",
        "public hearing",
        "public hearings",
        "budget",
        "budgets",
        "appropriation",
        "bonds",
    ),
    *(
        "tax",
        "taxes",
        "levy",
        "fee schedule",
        "rates",
        "zoning",
        "rezoning",
        "rezone",
        "zone change",
        "general plan",
    ),
    *(
        "comprehensive plan",
        "specific plan",
        "land use",
        "development agreement",
        "annexation",
        "eminent domain",
    ),
    *(
        "collective bargaining",
        "labor agreement",
        "settlement",
        "moratorium",
        "charter amendment",
        "ballot measure",
    ),
)


@dataclass(frozen=True, slots=True)
class DepthRules:
    """Which agenda items a language model summarises in one sentence, and which fully
    (`depth:` below `enrich:`).

    `brief` and `full` are phrases of titles, types and sections. Items that name
    `dollars` or more, or have a text of `chars` characters or more, are summarised
    fully too.
    """

    brief: tuple[str, ...] = _BRIEF_ITEMS
    full: tuple[str, ...] = _FULL_ITEMS
    dollars: int = 250_000
    chars: int = 40_000


ReasoningEffort = Literal["none", "minimal", "low", "medium", "high"]
ThemeMethod = Literal["words", "vectors", "trained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichRules:
    """What a desk file says about enrichment by a language model (`enrich:`).

    Texts of fewer than `min_chars` characters, and articles whose title contains one of
    `skip_titles` as whole words, are left to the local enricher, which also fills in
    where the model gives nothing usable, if `fallback` is `local`; with `none` such an
    article fails. `via` is `direct`, `batch`, or None: live news directly, backfills in
    batches. `entities` is PROVIDER:MODEL of a second call that finds entities, `none`
    for no such call, and None for what NEWS_ENTITIES says. `depth` decides how fully
    agenda items are summarised. `max_tokens` of an answer, `reasoning` (effort) and
    `temperature` are those of the settings where they are None. `themes` is what the
    local enricher finds themes with: the `words` of the taxonomy, `vectors` besides, or
    the desk's `trained` classifier; None for the classifier where the desk has one, and
    vectors where not.
    """

    min_chars: int = 400
    skip_titles: tuple[str, ...] = ()
    fallback: Literal["local", "none"] = "local"
    via: Literal["direct", "batch"] | None = None
    entities: str | None = None
    depth: DepthRules = DepthRules()
    max_tokens: int | None = None
    reasoning: ReasoningEffort | None = None
    temperature: float | None = None
    themes: ThemeMethod | None = None


DROPPED_ITEMS: Final = (
    *(
        "call to order",
        "roll call",
        "pledge of allegiance",
        "flag salute",
        "invocation",
        "moment of silence",
    ),
    *(
        "land acknowledgment",
        "land acknowledgement",
        "approval of minutes",
        "approval of the minutes",
    ),
    *(
        "approve minutes",
        "approve the minutes",
        "minutes approval",
        "acceptance of minutes",
        "approval of agenda",
    ),
    *(
        "approval of the agenda",
        "adoption of the agenda",
        "acceptance of the agenda",
        "agenda review",
        "adjournment",
    ),
    *(
        "adjourn",
        "recess",
        "reconvene",
        "establish a quorum",
        "determination of quorum",
        "minutes",
    ),
    *(
        "approve the agenda",
        "approve agenda",
        "amendments to the agenda",
        "public comment",
        "public comments",
    ),
    *(
        "public comment period",
        "citizen comments",
        "citizens comments",
        "comments from the public",
        "public forum",
    ),
    *(
        "audience participation",
        "communications",
        "oral communications",
        "written communications",
        "announcements",
    ),
    *(
        "council comments",
        "member comments",
        "new business",
        "old business",
        "unfinished business",
        "consent agenda",
    ),
    *(
        "consent calendar",
        "public hearings",
        "reports",
        "committee reports",
        "staff reports",
        "opening",
        "closing",
    ),
)
ITEMS_NOT_ENRICHED: Final = (
    *(
        "proclamation",
        "proclamations",
        "commendation",
        "commendations",
        "recognition of",
        "certificate of recognition",
    ),
    *(
        "appointment",
        "appointments",
        "reappointment",
        "reappointments",
        "oath of office",
        "swearing in",
    ),
    *(
        "liquor license",
        "liquor licence",
        "liquor licenses",
        "liquor licences",
        "alcohol license",
        "alcohol licence",
    ),
    *(
        "special event permit",
        "block party",
        "letter of support",
        "condolence",
        "condolences",
    ),
)


@dataclass(frozen=True, slots=True)
class ItemFilters:
    """Phrases of agenda items that are no articles, and of those that are not enriched
    (`filters:` of a desk file).
    """

    dropped: tuple[str, ...] = DROPPED_ITEMS
    not_enriched: tuple[str, ...] = ITEMS_NOT_ENRICHED


@dataclass(frozen=True, slots=True)
class Caps:
    """How much is taken at a time.

    Attributes:
        new_entries: Entries of one listing that a poll stores; the next polls store the
            others.
        pages: Articles that a run fetches of 200 agencies and days, the newest first;
            the next runs fetch the others. 0 for no limit.
        text_chars: Characters of an article's text that are kept.
    """

    new_entries: int = 2000
    pages: int = 0
    text_chars: int = 1_000_000


USUAL_CAPS: Final = Caps()
GAP_DAYS: Final = 30  # the freshness checks go back so many days


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Agencies that share one desk file, one partition grid and one queue.

    `taxonomy` is the file of its themes and `names` that of its names; None where the
    desk file has none. `contacts`
    are addresses or teams (`team:NAME`), which the UI shows as owners of its assets.
    `neighbours` are the agencies of the desks that are loaded beside it, each after the
    key of its desk. `caps` are of the settings.
    """

    key: str
    timezone: str
    language: str
    first_day: date
    agencies: tuple[Agency, ...]
    enrich: EnrichRules = EnrichRules()
    filters: ItemFilters = ItemFilters()
    taxonomy: Path | None = None
    names: Path | None = None
    caps: Caps = USUAL_CAPS
    contacts: tuple[str, ...] = ()
    neighbours: tuple[tuple[str, Agency], ...] = field(
        default=(), compare=False, repr=False
    )

    @property
    def agency_names(self) -> dict[str, str]:
        """The names of all its agencies by their keys."""
        return {agency.key: agency.name for agency in self.agencies}

    @property
    def is_civic(self) -> bool:
        """Whether some of its sources list meetings."""
        for agency in self.agencies:
            if any(source.is_civic for source in agency.sources):
                return True
        return False

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of all active agencies."""
        found: list[Source] = []
        for agency in self.agencies:
            if agency.is_active:
                found += agency.sources
        return tuple(found)


@dataclass(frozen=True, slots=True)
class KeepDays:
    """How many days rows of the lake are kept; 0 for ever. The default keeps all of
    them.
    """

    pages: int = 0
    polls: int = 0
    revisions: int = 0
    answers: int = 0
    changes: int = 0
