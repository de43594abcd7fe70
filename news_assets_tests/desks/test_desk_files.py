from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.desks.desk_files import built_in_desks, load_desks
from news_assets.errors import MAX_MISTAKES, DeskFileError
from news_assets.records.desks import (
    Agency,
    DepthRules,
    Desk,
    EnrichRules,
    Source,
    VendorLimits,
)
from news_assets.sources.source_kinds import KINDS as SOURCE_KINDS
from news_assets.taxonomy import CIVIC_TOPICS
from news_assets_tests.desks.test_yaml_nodes import BOMBS
from news_assets_tests.support.growth import grows_linearly

KINDS = ("feed", "sitemap")

GOOD = """\
desk: govbr
timezone: America/Sao_Paulo
language: pt
first_day: 2026-01-01
agencies:
  on:
    name: Observatório Nacional
    timezone: America/Manaus
    sources:
      - kind: feed
        url: https://example.org/on/feed.xml
        every_minutes: 15
  mec:
    name: Ministério da Educação
    language: pt-BR
    active: false
    reason: the site is being rebuilt
    since: 2026-05-01
    sources:
      - {kind: feed, url: "https://example.org/mec/feed.xml"}
"""

TEN_MISTAKES = """\
desk: Gov BR
timezone: America/Sao_Paolo
language: portuguese
first_day: 2026-13-01
owner: me
agencies:
  m e c:
    name: Ministério da Educação
    sources:
      - kind: feeds
        url: ftp://example.org/feed.xml
        every_minutes: 1
  mre:
    active: false
    sources: []
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "desk.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def mistakes(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(DeskFileError) as caught:
        load_desks([written(tmp_path, text)], KINDS)
    return [line.removeprefix(f"{tmp_path}/") for line in caught.value.mistakes]


def test_a_desk_file_becomes_a_desk(tmp_path: Path) -> None:
    mec = Source(
        source_id="govbr/mec/feed-3788e196",
        desk="govbr",
        agency="mec",
        kind="feed",
        url="https://example.org/mec/feed.xml",
        timezone="America/Sao_Paulo",
        language="pt-BR",
    )
    on = Source(
        source_id="govbr/on/feed-8b117414",
        desk="govbr",
        agency="on",
        kind="feed",
        url="https://example.org/on/feed.xml",
        timezone="America/Manaus",
        language="pt",
        every_minutes=15,
    )
    (desk,) = load_desks([written(tmp_path, GOOD)], KINDS)
    assert desk == Desk(
        key="govbr",
        timezone="America/Sao_Paulo",
        language="pt",
        first_day=date(2026, 1, 1),
        agencies=(
            Agency(
                key="mec",
                name="Ministério da Educação",
                timezone="America/Sao_Paulo",
                language="pt-BR",
                sources=(mec,),
                is_active=False,
                reason="the site is being rebuilt",
                since=date(2026, 5, 1),
            ),
            Agency(
                key="on",
                name="Observatório Nacional",
                timezone="America/Manaus",
                language="pt",
                sources=(on,),
            ),
        ),
    )
    assert desk.sources == (on,), "an agency that is not active is not polled"


def test_every_mistake_is_listed_with_its_line_and_the_fix(tmp_path: Path) -> None:
    assert mistakes(tmp_path, TEN_MISTAKES) == [
        "desk.yaml:1: desk: `Gov BR` cannot be a key; use lower-case letters, digits and _, a letter first",
        "desk.yaml:2: timezone: `America/Sao_Paolo` is not a time zone; did you mean `America/Sao_Paulo`?",
        "desk.yaml:3: language: `portuguese` is not a language code; write BCP 47 such as pt or pt-BR",
        "desk.yaml:4: first_day: Input should be a valid date or datetime, month value is outside expected range of "
        "1-12; change `2026-13-01`",
        "desk.yaml:5: owner: unknown key; remove it",
        "desk.yaml:7: agencies.m e c: `m e c` cannot be a key; use letters, digits, - and _",
        "desk.yaml:10: agencies.m e c.sources.0.kind: `feeds` is not a kind of source; known: feed, sitemap",
        "desk.yaml:11: agencies.m e c.sources.0.url: `ftp://example.org/feed.xml` is not a web address; "
        "write http://... or https://...",
        "desk.yaml:12: agencies.m e c.sources.0.every_minutes: Input should be greater than or equal to 5; change `1`",
        "desk.yaml:13: agencies.mre.name is missing; add `name: ...`",
        "desk.yaml:13: agencies.mre.reason: an inactive agency needs a reason; add `reason: ...`",
        "desk.yaml:15: agencies.mre.sources: empty; add at least one",
    ]


def test_the_first_day_may_be_days_before_today(tmp_path: Path) -> None:
    (desk,) = load_desks(
        [written(tmp_path, GOOD.replace("first_day: 2026-01-01", "first_day: -30d"))],
        KINDS,
    )
    days = datetime.now(UTC).date() - desk.first_day
    assert days in (timedelta(days=30), timedelta(days=31))  # at midnight


@pytest.mark.parametrize("text", ["30d", "-30", "-30 days", "- 30d"])
def test_other_spellings_of_days_before_today_are_a_mistake(
    text: str, tmp_path: Path
) -> None:
    (mistake,) = mistakes(
        tmp_path, GOOD.replace("first_day: 2026-01-01", f"first_day: '{text}'")
    )
    assert mistake.startswith("desk.yaml:4: first_day: ")


def test_an_unknown_key_gets_a_suggestion(tmp_path: Path) -> None:
    assert mistakes(tmp_path, GOOD.replace("    name: Obs", "    nane: Obs")) == [
        "desk.yaml:6: agencies.on.name is missing; add `name: ...`",
        "desk.yaml:7: agencies.on.nane: unknown key; did you mean `name`?",
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "desk.yaml:1: no desk in this file; begin with `desk: name`"),
        ("- a\n", "desk.yaml:1: no desk in this file; begin with `desk: name`"),
        (
            "desk: [\n",
            "desk.yaml:2: not YAML: expected the node content, but found '<stream end>'; fix this line "
            "or the one above",
        ),
    ],
)
def test_a_file_without_a_desk_is_an_error(
    tmp_path: Path, text: str, mistake: str
) -> None:
    assert mistakes(tmp_path, text) == [mistake]


def test_another_encoding_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_bytes("desk: saúde".encode("latin-1"))
    with pytest.raises(DeskFileError, match=r"desk\.yaml:1: not UTF-8 text"):
        load_desks([str(path)], KINDS)


def test_a_repeated_agency_or_source_is_an_error(tmp_path: Path) -> None:
    again = (
        GOOD
        + "  on:\n    name: twice\n    sources: [{kind: feed, url: 'https://a.org/'}, {kind: feed, url: 'https://a.org/'}]\n"
    )
    assert mistakes(tmp_path, again) == [
        "desk.yaml:21: `on` is repeated; keep one",
        "desk.yaml:23: agencies.on.sources.1: this url is repeated; keep one",
    ]


def test_mistakes_of_all_files_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(DeskFileError) as caught:
        load_desks(["nowhere", written(tmp_path, "")], KINDS)
    assert caught.value.mistakes == (
        f"nowhere: no such desk or file; built-in desks: {', '.join(built_in_desks())}; a path ends in .yaml",
        f"{tmp_path}/desk.yaml:1: no desk in this file; begin with `desk: name`",
    )


def test_two_desks_with_one_key_are_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(
        DeskFileError, match="govbr: two desks have this key; rename one"
    ):
        load_desks([path, path], KINDS)


def test_a_pace_is_inherited_and_adaptive_by_default(tmp_path: Path) -> None:
    def paces(text: str) -> list[str]:
        (desk,) = load_desks([written(tmp_path, text)], KINDS)
        return [source.pace for agency in desk.agencies for source in agency.sources]

    civic_desk = GOOD.replace("language: pt\nfirst", "language: pt\npace: civic\nfirst")
    civic_agency = GOOD.replace("    name: Obs", "    pace: civic\n    name: Obs")
    assert [paces(GOOD), paces(civic_agency), paces(civic_desk)] == [
        ["adaptive", "adaptive"],
        ["adaptive", "civic"],
        ["civic", "civic"],
    ]
    assert paces(civic_desk.replace("every_minutes: 15", "pace: adaptive")) == [
        "civic",
        "adaptive",
    ]


def test_the_nearest_interval_or_ceiling_counts(tmp_path: Path) -> None:
    def intervals(text: str) -> list[tuple[int | None, int | None]]:
        (desk,) = load_desks([written(tmp_path, text)], KINDS)
        return [
            (one.every_minutes, one.max_minutes)
            for agency in desk.agencies
            for one in agency.sources
        ]

    bounded = GOOD.replace(
        "language: pt\nfirst", "language: pt\nmax_minutes: 15\nfirst"
    )
    fixed_agency = bounded.replace("    language: pt-BR", "    every_minutes: 60")
    assert intervals(GOOD) == [(None, None), (15, None)]
    assert intervals(bounded) == [(None, 15), (15, None)]
    assert intervals(fixed_agency) == [(60, None), (15, None)]
    assert intervals(fixed_agency.replace("every_minutes: 15", "max_minutes: 30")) == [
        (60, None),
        (None, 30),
    ]


def test_a_ceiling_beside_a_fixed_interval_is_a_mistake(tmp_path: Path) -> None:
    both = GOOD.replace(
        "        every_minutes: 15",
        "        every_minutes: 15\n        max_minutes: 30",
    )
    (mistake,) = mistakes(tmp_path, both)
    assert mistake == (
        "desk.yaml:13: agencies.on.sources.0.max_minutes: `every_minutes` beside it fixes the interval; "
        "keep one of the two"
    )


def test_the_built_in_gov_br_desk_is_polled_every_15_minutes_in_working_hours() -> None:
    (desk,) = load_desks(["govbr"], SOURCE_KINDS)
    assert {(source.every_minutes, source.max_minutes) for source in desk.sources} == {
        (None, 15)
    }


@pytest.mark.parametrize(
    ("pace", "hint"),
    [
        ("civil", "did you mean `civic`?"),
        ("12", "write adaptive or civic"),
        ("[civic]", "did you mean"),
    ],
)
def test_an_unknown_pace_gets_a_suggestion(
    tmp_path: Path, pace: str, hint: str
) -> None:
    text = GOOD.replace("        every_minutes: 15", f"        pace: {pace}")
    (mistake,) = mistakes(tmp_path, text)
    assert mistake.startswith(
        f"desk.yaml:12: agencies.on.sources.0.pace: `{pace}` is not a pace; {hint}".replace(
            "[civic]", "['civic']"
        )
    )


def test_an_agency_may_state_type_and_parent(tmp_path: Path) -> None:
    text = GOOD.replace(
        "first_day: 2026-01-01\n",
        "first_day: 2026-01-01\noutside: {mcti: Ministério da Ciência}\n",
    )
    text = text.replace(
        "    name: Obs",
        "    type: Unidade de Pesquisa\n    parent: mcti\n    name: Obs",
    )
    text = text.replace("    name: Min", "    parent: on\n    name: Min")
    (desk,) = load_desks([written(tmp_path, text)], KINDS)
    assert [(agency.key, agency.type, agency.parent) for agency in desk.agencies] == [
        ("mec", None, "on"),
        ("on", "Unidade de Pesquisa", "mcti"),
    ]


def test_a_parent_is_an_agency_or_declared_outside(tmp_path: Path) -> None:
    text = GOOD.replace("    name: Obs", "    parent: mecc\n    name: Obs").replace(
        "    name: Min", "    parent: mec\n    name: Min"
    )
    assert mistakes(tmp_path, text) == [
        "desk.yaml:7: agencies.on.parent: no agency `mecc`; did you mean `mec`?",
        "desk.yaml:15: agencies.mec.parent: no agency `mec`; declare it under `outside`",
    ]


def test_a_desk_file_with_windows_line_ends_is_read(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert load_desks([str(path)], KINDS) == load_desks(
        [written(tmp_path, GOOD)], KINDS
    )


def test_on_and_no_are_not_booleans(tmp_path: Path) -> None:
    text = GOOD.replace("Observatório Nacional", "true story").replace(
        "  mec:", "  false-2:"
    )
    (desk,) = load_desks([written(tmp_path, text)], KINDS)
    assert [
        (agency.key, agency.name, agency.is_active) for agency in desk.agencies
    ] == [
        ("false-2", "Ministério da Educação", False),
        ("on", "true story", True),
    ]


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_error_with_its_line(tmp_path: Path, name: str) -> None:
    text, line, problem = BOMBS[name]
    path = tmp_path / "d.yaml"
    path.write_text(text)
    with pytest.raises(DeskFileError) as raised:
        load_desks([str(path)], KINDS)
    assert str(raised.value).startswith(f"{path}:{line}: {problem}")
    assert len(str(raised.value).splitlines()) == 1


HEAD = "desk: d\ntimezone: UTC\nlanguage: en\nfirst_day: 2026-01-01\n"
FEED = "sources: [{kind: feed, url: 'https://example.org'}]"


@pytest.mark.parametrize(
    "make",
    [
        lambda size: HEAD + "".join(f"key{n}: 1\n" for n in range(size)),
        lambda size: (
            HEAD
            + "agencies:\n"
            + "".join(
                f"  a{n}: {{name: x, parent: z{n}, {FEED}}}\n" for n in range(size)
            )
        ),
        lambda size: HEAD + f"agencies: {{a: {{name: [{'x, ' * size}], {FEED}}}}}\n",
    ],
    ids=["keys", "agencies", "names"],
)
def test_thousands_of_mistakes_are_a_short_list_in_linear_time(
    make: Callable[[int], str], tmp_path: Path
) -> None:
    path = tmp_path / "d.yaml"

    def mistakes(text: str) -> str:
        path.write_text(text)
        with pytest.raises(DeskFileError) as raised:
            load_desks([str(path)], KINDS)
        return str(raised.value)

    found = mistakes(make(5_000))
    assert len(found.splitlines()) <= MAX_MISTAKES + 1
    assert len(found) < 20_000
    assert grows_linearly(mistakes, make)


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/name:os.system", "!secret"]
)
def test_a_tag_creates_no_object(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "d.yaml"
    path.write_text(f"desk: d\nagencies: {tag} ['touch {tmp_path}/owned']\n")
    with pytest.raises(
        DeskFileError, match=r"d\.yaml:2: not YAML: could not determine a constructor"
    ):
        load_desks([str(path)], KINDS)
    assert [one.name for one in tmp_path.iterdir()] == ["d.yaml"]


def test_a_desk_has_a_file_of_names_beside_it(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("")
    (desk,) = load_desks([written(tmp_path, GOOD + "names: names.csv\n")], KINDS)
    assert desk.names == tmp_path / "names.csv"
    [mistake] = mistakes(tmp_path, GOOD + "names: other.csv\n")
    assert mistake.endswith(
        f"names: no file {tmp_path}/other.csv; write the path of a CSV file"
    )


def test_a_desk_names_its_taxonomy_or_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").touch()
    files = []
    for taxonomy in ("", "taxonomy: civic_topics\n", "taxonomy: own.yaml\n"):
        (desk,) = load_desks([written(tmp_path, GOOD + taxonomy)], KINDS)
        files.append(desk.taxonomy)
    assert files == [None, CIVIC_TOPICS, tmp_path / "own.yaml"]
    [mistake] = mistakes(tmp_path, GOOD + "taxonomy: other.yaml\n")
    fix = "write themes or civic_topics, or the path of a YAML file"
    assert mistake == f"desk.yaml:21: taxonomy: no file {tmp_path}/other.yaml; {fix}"


def test_a_desk_states_how_fully_agenda_items_are_summarised(tmp_path: Path) -> None:
    rules = "enrich: {depth: {brief: [bus day], dollars: 1000000}}\n"
    (desk,) = load_desks([written(tmp_path, GOOD + rules)], KINDS)
    assert desk.enrich.depth == DepthRules(brief=("bus day",), dollars=1_000_000)
    [mistake] = mistakes(tmp_path, GOOD + "enrich: {depth: {dollars: much}}\n")
    assert "enrich.depth.dollars: Input should be a valid integer" in mistake
    [mistake] = mistakes(tmp_path, GOOD + "enrich: {depth: {breif: [x]}}\n")
    assert "enrich.depth.breif: unknown key; did you mean `brief`?" in mistake


def test_a_desk_states_rules_of_enrichment(tmp_path: Path) -> None:
    rules = "enrich: {min_chars: 90, skip_titles: [Boletim], fallback: none, via: batch, entities: openai:gpt-5-mini}\n"
    (desk,) = load_desks([written(tmp_path, GOOD + rules)], KINDS)
    assert desk.enrich == EnrichRules(
        min_chars=90,
        skip_titles=("Boletim",),
        fallback="none",
        via="batch",
        entities="openai:gpt-5-mini",
    )


def test_the_model_of_a_desk_has_a_known_provider(tmp_path: Path) -> None:
    [mistake] = mistakes(tmp_path, GOOD + "enrich: {entities: oracle:x}\n")
    assert (
        "unknown provider 'oracle'; write none, or PROVIDER:MODEL with a provider of anthropic, bedrock"
        in mistake
    )


CITIES = """\
desk: ours
timezone: America/Los_Angeles
language: en
first_day: 2026-01-01
agencies:
  Palo Alto:
    name: Palo Alto
    sources: [{kind: primegov, url: "https://cityofpaloalto.primegov.com/"}]
  oaklandCA:
    name: Oakland
    sources: [{kind: legistar, url: "https://webapi.legistar.com/v1/oakland"}]
  reno:
    name: Reno
    sources: [{kind: primegov, url: "https://reno.primegov.com/"}]
  paper:
    name: A newspaper
    sources: [{kind: feed, url: "https://paper.example.org/feed"}]
"""
CIVIC = (*KINDS, "legistar", "primegov")


def test_the_key_of_a_city_is_a_name_and_a_state(tmp_path: Path) -> None:
    text = CITIES.replace("Palo Alto:\n", "paloalto:\n")
    with pytest.raises(DeskFileError) as caught:
        load_desks([written(tmp_path, text)], CIVIC)
    assert [line.removeprefix(f"{tmp_path}/") for line in caught.value.mistakes] == [
        f"desk.yaml:{line}: agencies.{key}: '{key}' is not the key of a city: it ends in no state or province; "
        "write paloaltoCA; or set `city_keys: false`"
        for line, key in ((6, "paloalto"), (12, "reno"))
    ]


def test_a_desk_may_have_other_keys_for_its_cities(tmp_path: Path) -> None:
    text = "city_keys: false\n" + CITIES.replace("Palo Alto:\n", "paloalto:\n")
    [desk] = load_desks([written(tmp_path, text)], CIVIC)
    assert [agency.key for agency in desk.agencies] == [
        "oaklandCA",
        "paloalto",
        "paper",
        "reno",
    ]


def test_a_desk_may_set_other_limits_for_a_vendor(tmp_path: Path) -> None:
    text = "vendors: {primegov: {slots: 1, delay_s: 10}}\n" + CITIES.replace(
        "Palo Alto", "paloaltoCA", 1
    )
    [desk] = load_desks([written(tmp_path, text.replace("reno:", "renoNV:"))], CIVIC)
    assert {source.kind: source.access.vendor for source in desk.sources} == {
        "primegov": VendorLimits(kind="primegov", slots=1, delay_s=10.0),
        "legistar": VendorLimits(kind="legistar", slots=1, delay_s=3.0),
        "feed": None,
    }


COUNCIL = """\
desk: councils
timezone: America/Chicago
language: en
first_day: 2026-01-01
agencies:
  springfieldIL:
    name: Springfield
    sources:
      - {kind: legistar, url: "https://webapi.legistar.com/v1/springfield"}
      - {kind: feed, url: "https://springfield.example/feed.xml"}
"""


def test_files_of_civic_sources_are_checked_where_the_nearest_hash_says_metadata(
    tmp_path: Path,
) -> None:
    def checked(text: str) -> list[bool]:
        (desk,) = load_desks([written(tmp_path, text)], CIVIC)
        return [source.checks_documents for source in desk.sources]

    of_desk = COUNCIL.replace("agencies:", "hash: metadata\nagencies:")
    assert [checked(COUNCIL), checked(of_desk)] == [[False, False], [True, False]]
    assert checked(of_desk.replace("legistar,", "legistar, hash: name,")) == [
        False,
        False,
    ]
    assert checked(
        COUNCIL.replace("Springfield\n", "Springfield\n    hash: metadata\n")
    ) == [True, False]


def test_a_hash_where_it_has_no_meaning_is_a_mistake(tmp_path: Path) -> None:
    def mistakes_of(text: str) -> tuple[str, ...]:
        with pytest.raises(DeskFileError) as caught:
            load_desks([written(tmp_path, text)], CIVIC)
        return tuple(mistake.rpartition("/")[2] for mistake in caught.value.mistakes)

    assert mistakes_of(
        COUNCIL.replace("kind: feed,", "kind: feed, hash: metadata,")
    ) == (
        "desk.yaml:10: agencies.springfieldIL.sources.1.hash: a source of kind feed lists no meetings with documents; "
        "remove it",
    )
    assert mistakes_of(COUNCIL.replace("agencies:", "hash: etag\nagencies:")) == (
        "desk.yaml:5: hash: Input should be 'name' or 'metadata'; change `etag`",
    )


@pytest.mark.parametrize(
    "contact", ["Ana", "team:", "team:a b", "ana@localhost", "@x.org"]
)
def test_a_contact_is_a_team_or_an_address(tmp_path: Path, contact: str) -> None:
    text = f"desk: d\ntimezone: UTC\nlanguage: en\nfirst_day: 2026-01-01\ncontacts: ['{contact}']\n"
    text += (
        "agencies: {a: {name: A, sources: [{kind: feed, url: 'https://example.org/'}]}}"
    )
    [mistake] = mistakes(tmp_path, text)
    assert "a contact is an e-mail address, or a team: write team:NAME" in mistake
