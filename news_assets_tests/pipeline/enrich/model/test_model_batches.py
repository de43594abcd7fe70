"""Enrichment by batches: what is sent, stored and sent again, also where processes are
killed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.errors import BatchError
from news_assets.pipeline.enrich.model.ledger import Budget
from news_assets.pipeline.enrich.model.model_batches import SENT_WITHIN, settle_batches
from news_assets.pipeline.enrich.model.preview import Preview
from news_assets.records.derived import CachedEnrichment, EnrichedArticle, Failure
from news_assets.records.model_calls import Ceilings, EnrichmentBatch, ModelCall
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import spent
from news_assets_tests.support.model_enrichment import (
    DAY,
    KEYS,
    NOW,
    ScriptedModel,
    desk,
    enrich,
    enricher,
    honest,
    large_tree,
    made,
    rows,
    served,
)
from news_assets_tests.support.model_server import (
    BatchFault,
    Fault,
    ModelServer,
    model_server,
)

NAME = "openai:gpt-5-mini"
BATCHED = desk(via="batch")
COUNT = 6
SLOW = pytest.mark.slow  # each runs the stage three times, which takes 2 s of CPU
LATER = NOW + SENT_WITHIN * 2


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        running.answer = honest
        running.clock = lambda: NOW
        yield running


def fill(lake: Lake) -> None:
    lake.transact(lambda rows: rows.upsert([made(n) for n in range(COUNT)]))


def send(lake: Lake, now: object = NOW) -> None:
    enrich(lake, enricher(served(NAME)), BATCHED, now)


def settle(lake: Lake, now: object = LATER) -> dict[str, str]:
    return settle_batches(lake, enricher(served(NAME)), [desk()], lambda: now)


def comparable(lake: Lake) -> list[object]:
    return [
        {name: getattr(row, name) for name in row.__slots__ if name != "enriched_at"}
        for row in rows(lake).values()
    ]


def test_articles_wait_for_their_batch_and_then_have_the_rows_of_direct_calls(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    send(lake)
    assert {row.enricher for row in rows(lake).values()} == {"local"}
    assert {row.local_reason for row in rows(lake).values()} == {
        f"the batch that was sent to {NAME} is not over yet"
    }
    assert set(settle(lake).values()) == {"collected"}
    assert {failure.next_try_at for failure in lake.read(Failure)} == {LATER}
    send(lake, LATER)
    assert {row.enricher for row in rows(lake).values()} == {"model"}
    assert lake.read(Failure) == []
    calls = lake.read(ModelCall)
    assert {(call.via, call.batch_id, call.outcome) for call in calls} == {
        ("batch", "batch1", "ok")
    }
    by_batch = comparable(lake)
    prices = sorted(call.usd or 0 for call in calls)

    hashes = [call.input_hash for call in calls]
    lake.transact(lambda rows: rows.delete(EnrichedArticle, day=[DAY]))
    lake.transact(lambda rows: rows.delete(CachedEnrichment, input_hash=hashes))
    lake.transact(lambda rows: rows.delete(ModelCall, input_hash=hashes))
    model = served(NAME)
    enrich(lake, enricher(model), desk(), LATER)
    model.close()
    assert comparable(lake) == by_batch
    assert prices == pytest.approx(
        sorted((call.usd or 0) / 2 for call in lake.read(ModelCall))
    )


def test_a_batch_is_sent_up_to_a_ceiling_and_counts_as_spent_while_it_is_open(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    send(lake)
    [whole] = [batch.reserved_usd or 0.0 for batch in lake.read(EnrichmentBatch)]
    assert spent(lake, NOW).day == pytest.approx(whole)
    settle(lake)
    paid = sum(call.usd or 0.0 for call in lake.read(ModelCall))
    assert (0 < paid < whole, spent(lake, NOW).day) == (True, pytest.approx(paid))

    lake.transact(lambda rows: rows.upsert([made(n) for n in range(COUNT, 2 * COUNT)]))
    ceiling = paid + whole / 2
    budget = Budget(Ceilings(day=ceiling), spent)
    enrich(lake, enricher(served(NAME), budget=budget), BATCHED, NOW)
    [limited] = [
        batch for batch in lake.read(EnrichmentBatch) if batch.progress == "running"
    ]
    assert 0 < limited.request_count < COUNT
    assert paid + (limited.reserved_usd or 0.0) <= ceiling
    assert any(
        "NEWS_MAX_USD_PER_DAY is reached" in (row.local_reason or "")
        for row in rows(lake).values()
    )


@SLOW
def test_nothing_is_sent_twice_while_a_batch_is_open(
    server: ModelServer, lake: Lake
) -> None:
    server.batch_polls = 2
    fill(lake)
    send(lake)
    for _ in range(2):
        settle(lake)
        send(lake, LATER)
    settle(lake)
    send(lake, LATER)
    assert set(server.paid.values()) == {1}
    assert len(server.jobs) == 1
    assert {row.enricher for row in rows(lake).values()} == {"model"}


@pytest.mark.parametrize(
    "fault",
    [
        BatchFault.HALF_EXPIRED,
        # test_provider_batches.py has what is collected after each fault
        pytest.param(BatchFault.MISSING_IDS, marks=[SLOW, pytest.mark.exhaustive]),
        pytest.param(BatchFault.EXPIRED, marks=[SLOW, pytest.mark.exhaustive]),
    ],
)
def test_only_what_is_missing_is_sent_again(
    server: ModelServer, lake: Lake, fault: BatchFault
) -> None:
    server.batch_faults = [fault]
    fill(lake)
    for _ in range(2):
        send(lake, LATER)
        settle(lake)
    send(lake, LATER)
    sizes = {
        BatchFault.HALF_EXPIRED: 3,
        BatchFault.MISSING_IDS: 2,
        BatchFault.EXPIRED: 6,
    }
    assert [len(job.lines) for job in server.jobs] == [COUNT, sizes[fault]]
    assert {row.enricher for row in rows(lake).values()} == {"model"}
    assert [batch.progress for batch in lake.read(EnrichmentBatch)] == [
        "collected",
        "collected",
    ]


@SLOW
def test_a_failed_request_is_sent_again_and_its_failure_is_in_the_ledger(
    server: ModelServer, lake: Lake
) -> None:
    server.fail_next(Fault.SERVER_ERROR)
    fill(lake)
    for _ in range(2):
        send(lake, LATER)
        settle(lake)
    assert (
        sorted(call.outcome for call in lake.read(ModelCall))
        == ["failed"] + ["ok"] * COUNT
    )
    assert [len(job.lines) for job in server.jobs] == [COUNT, 1]


def test_a_batch_whose_reply_was_lost_is_found_and_not_sent_again(
    server: ModelServer, lake: Lake
) -> None:
    server.batch_faults = [BatchFault.LOST_REPLY]
    fill(lake)
    send(lake)
    assert set(settle(lake, NOW).values()) == {"submitting"}
    send(lake, LATER)
    assert set(settle(lake).values()) == {"collected"}
    assert set(server.paid.values()) == {1}
    assert len(server.jobs) == 1


def test_a_batch_that_was_never_made_is_sent_again(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    enrich(
        lake, enricher(served(NAME), open_batches=lambda _name: NeverMade()), BATCHED
    )
    assert set(settle(lake).values()) == {"lost"}
    send(lake, LATER)
    assert set(settle(lake, LATER).values()) == {"collected"}
    assert set(server.paid.values()) == {1}


class NeverMade:
    """Batches of a provider that does not answer."""

    name, min_requests, max_requests = NAME, 1, 1000

    def submit(self, *_: object) -> str:
        raise BatchError("no answer", is_transient=True)


@SLOW
def test_a_refused_batch_is_a_reason_and_is_tried_again_later(
    server: ModelServer, lake: Lake
) -> None:
    server.batch_faults = [BatchFault.REFUSED]
    fill(lake)
    send(lake)
    [batch] = lake.read(EnrichmentBatch)
    assert (batch.progress, server.paid.total()) == ("failed", 0)
    assert all("400" in (row.local_reason or "") for row in rows(lake).values())
    send(lake, LATER)
    settle(lake, LATER)
    assert set(server.paid.values()) == {1}


def test_too_few_requests_for_a_batch_are_asked_directly(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    model = ScriptedModel()
    enrich(lake, enricher(model, open_batches=lambda _name: Large()), BATCHED)
    assert len(model.sent) == COUNT
    assert {row.enricher for row in rows(lake).values()} == {"model"}


class Large(NeverMade):
    min_requests = 100


def backfill(lake: Lake, now: object = NOW) -> None:
    enrich(
        lake,
        enricher(served(NAME), has_batches=lambda _name: True),
        now=now,
        re_enrich=True,
    )


def live(lake: Lake, now: object = LATER) -> None:
    model = served(NAME)
    enrich(lake, enricher(model, has_batches=lambda _name: True), now=now)
    model.close()


@SLOW
def test_backfills_are_sent_in_batches_and_live_news_directly(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    backfill(lake)
    assert [len(job.lines) for job in server.jobs] == [COUNT]
    lake.transact(lambda rows: rows.upsert([made(COUNT)]))
    live(lake)
    assert [
        row.article_id for row in rows(lake).values() if row.enricher == "model"
    ] == [made(COUNT).article_id]
    settle(lake)
    live(lake)
    assert {row.enricher for row in rows(lake).values()} == {"model"}
    assert (set(server.paid.values()), len(server.jobs)) == ({1}, 1)


@SLOW
@pytest.mark.exhaustive  # a batch that is half expired, and a backfill, are above
def test_what_a_backfills_batch_left_unanswered_is_sent_in_a_batch_again(
    server: ModelServer, lake: Lake
) -> None:
    server.batch_faults = [BatchFault.HALF_EXPIRED]
    fill(lake)
    backfill(lake)
    settle(lake)
    live(lake)
    settle(lake, LATER + SENT_WITHIN)
    live(lake, LATER + SENT_WITHIN)
    assert [len(job.lines) for job in server.jobs] == [COUNT, COUNT // 2]
    assert {call.via for call in lake.read(ModelCall)} == {"batch"}
    assert {row.enricher for row in rows(lake).values()} == {"model"}


def test_a_preview_opens_no_batch(server: ModelServer, lake: Lake) -> None:
    fill(lake)
    preview = Preview(lake, BATCHED, enricher(served(NAME)), lambda: NOW)
    preview.add(KEYS)
    assert (len(preview.found.new), server.jobs, lake.read(EnrichmentBatch)) == (
        COUNT,
        [],
        [],
    )


@SLOW
def test_an_article_that_changed_meanwhile_is_sent_again(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    send(lake)
    lake.transact(
        lambda rows: rows.upsert([made(0, made(99).text or "", content_hash="changed")])
    )
    settle(lake)
    send(lake, LATER)
    assert [len(job.lines) for job in server.jobs] == [COUNT, 1]
    assert {
        row.enricher for row in rows(lake).values() if row.article_id != "mec-00000"
    } == {"model"}


def test_an_answer_for_a_text_that_changed_meanwhile_is_in_the_ledger_with_its_price(
    server: ModelServer, lake: Lake
) -> None:
    fill(lake)
    send(lake)
    lake.transact(
        lambda rows: rows.upsert([made(0, made(99).text or "", content_hash="changed")])
    )
    settle(lake)
    calls = {call.article_id: call for call in lake.read(ModelCall)}
    changed, other = calls["mec-00000"], calls["mec-00001"]
    assert (changed.outcome, changed.reason) == (
        "refused",
        "the input changed while its batch ran",
    )
    assert (changed.usd or 0.0) == pytest.approx(other.usd)


@SLOW
def test_a_large_tree_is_descended_in_two_batches(
    server: ModelServer, lake: Lake
) -> None:
    tree, code = large_tree(), "07.13.04"
    server.answer = lambda text: (
        honest(text) | {"theme": code if server.jobs else code[:5]}
    )
    lake.transact(lambda rows: rows.upsert([made(1)]))
    for hours in range(4):
        now = NOW + timedelta(hours=hours)
        by = enricher(served(NAME), taxonomy=tree)
        enrich(lake, by, BATCHED, now)
        settle_batches(lake, by, [desk()], lambda now=now: now)
    assert [
        batch.kind
        for batch in sorted(
            lake.read(EnrichmentBatch), key=lambda one: one.submitted_at
        )
    ] == [
        "theme",
        "enrich",
    ]
    assert rows(lake)["mec-00001"].theme_code == code


@pytest.mark.slow  # starts some 12 processes
@pytest.mark.exhaustive  # test_killed_requests.py kills runs too
def test_killed_processes_pay_nothing_twice(
    server: ModelServer, lake: Lake, tmp_path: Path
) -> None:
    fill(lake)
    chance = random.Random(0)
    for n in range(15):
        process = subprocess.Popen(
            [sys.executable, __file__, str(tmp_path), str(n)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()  # the imports, which are most of its time, are done
        time.sleep(chance.random() * 0.6)
        is_killed = n < 5
        if is_killed:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if not is_killed and {row.enricher for row in rows(lake).values()} == {"model"}:
            break
    assert {row.enricher for row in rows(lake).values()} == {"model"}
    assert (set(server.paid.values()), len(server.paid)) == ({1}, COUNT)
    calls = lake.read(ModelCall)
    assert sorted(call.input_hash for call in calls) == sorted(
        {call.input_hash for call in calls}
    )
    assert len(calls) == COUNT


def _run(folder: Path, number: int) -> None:
    """Send and settle as the assets do, half an hour after the run before."""
    now = NOW + number * SENT_WITHIN * 2
    by = enricher(served(NAME))
    with Lake.open(folder / "catalog.sqlite", folder / "data") as lake:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        settle_batches(lake, by, [desk()], lambda: now)
        enrich(lake, by, BATCHED, now)


if __name__ == "__main__":
    _run(Path(sys.argv[1]), int(sys.argv[2]))
