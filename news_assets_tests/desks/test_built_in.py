"""The built-in desks are valid and complete."""

import csv
from collections import Counter
from pathlib import Path

import pytest
import yaml

from news_assets.desks.desk_files import built_in_desks, load_desks, path_of
from news_assets.desks.import_plan import same_source_key
from news_assets.records.desks import Desk, VendorLimits
from news_assets.sources.civic.vendors import CIVIC_KINDS
from news_assets.sources.source_kinds import ALL_KINDS

SHIPPED = [name for name in built_in_desks() if name != "sample"]


def desk_of(name: str) -> Desk:
    (desk,) = load_desks([name], ALL_KINDS)
    return desk


def test_every_built_in_desk_loads_under_its_own_name() -> None:
    assert [desk.key for desk in load_desks(built_in_desks(), ALL_KINDS)] == list(
        built_in_desks()
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_the_agencies_of_a_built_in_desk_are_sorted_by_key(name: str) -> None:
    keys = list(yaml.safe_load(path_of(name).read_text(encoding="utf-8"))["agencies"])
    assert keys == sorted(keys)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_built_in_desk_has_each_address_once_and_by_https(name: str) -> None:
    urls = [source.url for source in desk_of(name).sources]
    keys = Counter(map(same_source_key, urls))
    assert [key for key, count in keys.items() if count > 1] == []
    assert [url for url in urls if not url.startswith("https://")] == []


def test_no_address_is_in_two_built_in_desks() -> None:
    keys = Counter(
        same_source_key(source.url)
        for name in SHIPPED
        for source in desk_of(name).sources
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_govbr_has_155_sites_of_gov_br_and_two_of_ebc() -> None:
    desk = desk_of("govbr")
    assert (desk.timezone, desk.language, str(desk.first_day)) == (
        "America/Sao_Paulo",
        "pt-BR",
        "2026-01-01",
    )
    assert Counter(source.kind for source in desk.sources) == {
        "plone_listing": 118,
        "plone_search": 37,
        "ebc": 2,
    }
    assert [
        agency.key
        for agency in desk.agencies
        if not agency.is_active and not agency.reason
    ] == []


def test_govbr_states_the_type_and_parent_of_each_body() -> None:
    agencies = {agency.key: agency for agency in desk_of("govbr").agencies}
    capes = agencies["capes"]
    assert (capes.name, capes.type, capes.parent) == (
        "Coordenação de Aperfeiçoamento de Pessoal de Nível Superior",
        "Fundação",
        "mec",
    )
    assert agencies["mec"].parent == "presidencia", (
        "a body outside the desk, named there"
    )


def test_govbr_has_every_body_of_the_list(shared: Path) -> None:
    kinds = {"plone": "plone_listing", "plone6": "plone_search", "ebc": "ebc"}
    with (shared / "facts" / "govbr_agencies.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        listed = {
            (
                row["agency"],
                row["type"],
                row["parent"],
                kinds[row["platform"]],
                row["news_url"],
                row["active"] == "yes",
            )
            for row in csv.DictReader(file)
        }
    assert {
        (
            agency.key,
            agency.type or "",
            agency.parent or "",
            source.kind,
            source.url,
            agency.is_active,
        )
        for agency in desk_of("govbr").agencies
        for source in agency.sources
    } == listed


def test_g1_has_each_state_in_its_own_time_zone() -> None:
    agencies = {agency.key: agency for agency in desk_of("g1").agencies}
    states = [agency for agency in agencies.values() if agency.type == "Estado"]
    assert len(states) == 27
    assert {
        agency.timezone for agency in states if agency.timezone != "America/Sao_Paulo"
    } == {
        "America/Boa_Vista",
        "America/Campo_Grande",
        "America/Cuiaba",
        "America/Manaus",
        "America/Porto_Velho",
        "America/Rio_Branco",
    }
    assert agencies["sp-campinas-regiao"].parent == "sp"


def test_world_states_the_zone_of_each_newsroom() -> None:
    zones = {agency.key: agency.timezone for agency in desk_of("world").agencies}
    assert len(zones) >= 20
    assert (zones["bbc"], zones["rnz"], zones["npr"]) == (
        "Europe/London",
        "Pacific/Auckland",
        "America/New_York",
    )


def test_civic_has_active_cities_of_every_vendor_and_reasons_for_the_others() -> None:
    desk = desk_of("civic")
    assert len([agency for agency in desk.agencies if agency.is_active]) >= 60
    assert {source.kind for source in desk.sources} == set(CIVIC_KINDS)
    assert [
        agency.key
        for agency in desk.agencies
        if not agency.is_active and not agency.reason
    ] == []
    assert {source.pace for source in desk.sources} == {"signals"}


def test_civic_places_its_cities_in_their_zones() -> None:
    zones = {agency.key: agency.timezone for agency in desk_of("civic").agencies}
    assert (
        zones["honoluluHI"],
        zones["phoenixAZ"],
        zones["elpasoTX"],
        zones["saskatoonSK"],
    ) == (
        "Pacific/Honolulu",
        "America/Phoenix",
        "America/Denver",
        "America/Regina",
    )


def test_the_hosts_of_a_civic_vendor_share_its_limits() -> None:
    limits = {source.kind: source.access.vendor for source in desk_of("civic").sources}
    assert limits["civicplus"] == VendorLimits(kind="civicplus", slots=1, delay_s=7.0)
    assert limits["granicus"] == VendorLimits(kind="granicus", slots=3, delay_s=4.0)
    assert limits["pdf_links"] is None, "pages of different makers"
