"""An article of a newspaper is linked to the matter of the council that it reports on,
through the graph.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.defs.active_runs import RANGE_END, RANGE_START
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.pipeline.civic.news_links import places_of
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CivicMention
from news_assets.records.meetings import Matter
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.news_links import NewsLink, news_on_matter
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.council import Council, served
from news_assets_tests.support.graph import Graph

DESK = """\
desk: springfield
timezone: UTC
language: en
first_day: {first}
agencies:
  springfieldIL:
    name: City of Springfield, Illinois
    sources: [{{kind: legistar, url: "{site}/v1/springfield"}}]
  herald:
    name: The Herald
    sources: [{{kind: feed, url: "{site}/feed.xml"}}]
city_keys: false
"""
FEED = """\
<?xml version="1.0"?><rss version="2.0"><channel><title>The Herald</title><link>{site}/</link>
<item><title>Night buses to run all week</title><link>{site}/news/1</link>
<pubDate>{at:%a, %d %b %Y %H:%M:%S} +0000</pubDate></item></channel></rss>
"""
PAGE = """\
<html><head><title>Night buses to run all week</title></head><body><article>
<h1>Night buses to run all week</h1>
<p>SPRINGFIELD. Buses will run through the night from January on every day of the week, if
the council gives its consent to a contract of four years with the company that runs them.</p>
<p>The contract is before the council as Resolution No. 2026-77, and drivers, shop owners
and students have written in its favour during the last weeks, many of them by hand.</p>
<p>The company wants to hire forty drivers and to buy twelve new buses for the lines that
lead to the hospital, to the university and to the two large factories in the north.</p>
</article></body></html>
"""


@pytest.mark.slow  # 9 s of CPU: polls, all stages and stories of two agencies
def test_news_is_linked_to_the_matter_that_it_names_and_not_once_it_is_withdrawn(
    tmp_path: Path,
) -> None:
    now = datetime.now(UTC)
    today = now.date()
    council = Council()
    council.meet(7, today + timedelta(days=1))
    council.put(7, 71, "Contract for night buses", EventItemMatterFile="RES 2026-077")
    with served(council) as site, dg.DagsterInstance.ephemeral() as instance:
        council.files["/feed.xml"] = FEED.format(site=site, at=now).encode()
        council.files["/news/1"] = PAGE.encode()
        file = tmp_path / "springfield.yaml"
        file.write_text(DESK.format(site=site, first=today - timedelta(days=9)))
        (desk,) = load_desks([str(file)], ALL_KINDS)
        graph = Graph(desk, tmp_path, instance, EMBEDDER)
        graph.settle()
        job = graph.definitions.resolve_job_def("stories")
        days = {RANGE_START: str(today - timedelta(days=1)), RANGE_END: str(today)}
        assert job.execute_in_process(instance=instance, tags=days).success

        with graph.lake() as lake:
            (link,) = news_of(lake, graph)
            assert link.title == "Night buses to run all week"
            assert (link.agency, link.evidence) == ("herald", "number")
            assert "Resolution No. 2026-77" in link.passage

            articles = lake.read(RawArticle, article_id=[link.article_id])
            lake.transact(lambda rows: withdraw(rows, articles, "wrong", now))
            assert news_of(lake, graph) == []
            assert lake.read(CivicMention) == []


def news_of(lake: Lake, graph: Graph) -> list[NewsLink]:
    (matter,) = lake.read(Matter)
    return news_on_matter(lake, matter, places_of([graph.desk]))
