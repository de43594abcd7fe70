"""Subscriptions by e-mail: from the page to the mail of a new article and to its end, with a
real mail server; what others can and cannot do with an address.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import dagster as dg
import httpx
import pytest

from news_assets.clients.factory import open_notifier
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.subscriber_mail import SubscriptionLinks
from news_assets.commands.export import export
from news_assets.defs.newsroom_alerts import build_alerts
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.alerts.outbox import send_due
from news_assets.pipeline.alerts.query_file import Alerts
from news_assets.records.alerts import Message, QueryHit, Subscription
from news_assets.search import Index
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES
from news_assets.taxonomy import load_taxonomy
from news_assets.web.archive import Archive
from news_assets_tests.support.mail_server import mail_server
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.web.conftest import served

SECRET = "a secret of enough characters"
PAGES = "https://news.example.org/archive"
FORM = {"email": "ana@example.org", "query": "bus", "agency": "a", "when": "at_once"}


@dataclass
class Office:
    """The pages, the newsroom, and the mails that came."""

    browser: httpx.Client
    room: Newsroom
    mails: list[EmailMessage]
    dagster: dg.DagsterInstance

    def subscribe(self, **changes: str) -> httpx.Response:
        return self.browser.post("/subscribe", data={**FORM, **changes})

    def send(self) -> list[EmailMessage]:
        """Send what is due; return the new mails."""
        before = len(self.mails)
        lake = self.room.lake
        with open_notifier(Settings.read(), Alerts(), lake) as notifier:
            send_due(lake, notifier.send, lambda: datetime.now(UTC))
        return self.mails[before:]

    def run_alerts(self) -> list[EmailMessage]:
        """Run the asset of alerts; return the new mails."""
        before = len(self.mails)
        alerts = build_alerts([DESK], [])
        lake = {"lake": self.room.lake}
        assert dg.materialize([alerts], instance=self.dagster, resources=lake).success
        return self.mails[before:]

    def publish(self, number: int) -> None:
        """Store and index an article of now."""
        now = datetime.now(UTC)
        listed = {"published_at": now, "first_seen_at": now, "last_seen_at": now}
        self.room.now = now
        self.room.list(entry(number, day=now.date(), **listed))
        self.room.run()


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    with (
        mail_server() as (port, mails),
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
        dg.DagsterInstance.ephemeral() as dagster,
    ):
        for name, value in {
            "NEWS_HOME": str(tmp_path),
            "NEWS_SMTP": f"smtp://127.0.0.1:{port}",
            "NEWS_MAIL_FROM": "news@example.org",
            "NEWS_PAGES_URL": PAGES,
            "NEWS_SUBSCRIPTION_SECRET": SECRET,
        }.items():
            monkeypatch.setenv(name, value)
        room = Newsroom(lake, index)
        opened = Index(index, lambda: room.embedder, lambda: None)
        archive = Archive(opened, lake, [DESK], {DESK.key: load_taxonomy()})
        with (
            served(archive, links=SubscriptionLinks(SECRET, PAGES)) as address,
            httpx.Client(base_url=address, headers={"Accept": "text/html"}) as browser,
        ):
            yield Office(browser, room, mails, dagster)


def text_of(mail: EmailMessage) -> str:
    return str(mail.get_content()).replace("\r\n", "\n")


def link_in(mail: EmailMessage, path: str) -> str:
    """Return the path of a link of this kind in the text of a mail."""
    text = text_of(mail)
    [found] = re.findall(rf"{PAGES}(/subscriptions/{path}/\S+)", text)
    return str(found)


@pytest.mark.slow  # four runs of the asset, each a second of CPU
def test_a_reader_subscribes_confirms_is_sent_mail_and_ends_it_with_one_click(
    office: Office,
) -> None:
    office.publish(1)
    form = office.browser.get("/subscribe?q=bus&agency=a").text
    assert "would have sent in the last 7 days: 1<" in form
    assert "Look into your mailbox" in office.subscribe().text
    [asking] = office.run_alerts()
    assert (asking["To"], asking["Subject"]) == (
        "ana@example.org",
        "Please confirm: news about bus · Câmara a",
    )
    confirming = link_in(asking, "confirm")
    assert "Confirm the subscription" in office.browser.get(confirming).text
    office.publish(2)
    assert office.run_alerts() == []  # a program that opens the link confirms nothing

    assert "Confirmed" in office.browser.post(confirming).text
    office.publish(3)
    [mail] = office.run_alerts()
    text = text_of(mail)
    assert mail["Subject"] == "bus · Câmara a: 1 new article"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert re.search(r"^Bus\nCâmara a · \d{4}-\d\d-\d\d \d\d:\d\d UTC\nBus\n", text)
    assert "https://example.org/3\n" in text
    ending = mail["List-Unsubscribe"].strip("<>").removeprefix(PAGES)
    assert ending == link_in(mail, "end")
    assert "End the subscription" in office.browser.get(ending).text

    one_click = {"List-Unsubscribe": "One-Click"}
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://mail.example"}
    assert office.browser.post(ending, data=one_click, headers=headers).is_success
    office.publish(4)
    assert office.run_alerts() == []
    assert office.browser.post(ending, data=one_click).is_success
    assert office.browser.get(ending).status_code == 404
    lake = office.room.lake
    assert [lake.read(one) for one in (Subscription, QueryHit, Message)] == [[]] * 3


def test_every_mail_can_be_ended_also_the_one_that_asks_to_confirm(
    office: Office,
) -> None:
    office.subscribe()
    [asking] = office.send()
    ending = asking["List-Unsubscribe"].strip("<>").removeprefix(PAGES)
    assert office.browser.post(ending).is_success
    assert office.browser.post(link_in(asking, "confirm")).status_code == 404
    assert office.room.lake.read(Subscription) == []


def test_answers_do_not_say_whether_an_address_is_known_and_it_gets_three_mails_a_day(
    office: Office,
) -> None:
    first = office.subscribe()
    spellings = ("ana@example.org", "A.na@example.org", "ana+x@example.org")
    others = [
        office.subscribe(email=email, query=f"bus {number}")
        for number, email in enumerate(spellings)
    ]
    known = office.subscribe()
    assert {(one.status_code, one.text) for one in (first, known, *others)} == {
        (200, first.text)
    }
    assert len(office.send()) == 3
    assert len(office.room.lake.read(Subscription)) == 3


def test_a_client_has_twenty_requests_a_day(office: Office) -> None:
    answers = [office.subscribe(email=f"r{number}@example.org") for number in range(21)]
    assert [one.status_code for one in answers] == [200] * 20 + [429]


def test_an_address_is_in_one_table_that_neither_exports_nor_pages_show(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.subscribe()
    [asking] = office.send()
    office.browser.post(link_in(asking, "confirm"))
    tables = [
        table for table in TABLES if "ana@" in str(office.room.lake.read(table.record))
    ]
    assert [(one.name, one.is_private) for one in tables] == [("subscriptions", True)]
    with pytest.raises(NewsAssetsError, match="no table `subscriptions`"):
        export("subscriptions")
    for path in ("/api/v1", "/queries", "/queries.opml", "/feeds", "/api/v1/changes"):
        answer = office.browser.get(path)
        assert answer.is_success
        assert "ana@" not in answer.text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"email": "ana"}, "`ana` is not an e-mail address"),
        ({"email": "a@b, c@d"}, "is not an e-mail address"),
        ({"when": "hourly"}, "when: one of"),
        ({"agency": "a,b"}, "agency: a subscription takes one value"),
        ({"query": "x" * 501}, "query: "),
        ({"publishers": "0"}, "publishers: "),
    ],
)
def test_what_is_wrong_is_named_in_the_form_which_keeps_what_was_written(
    office: Office, change: dict[str, str], reason: str
) -> None:
    answer = office.subscribe(**change)
    assert (answer.status_code, reason in answer.text) == (400, True)
    assert 'name="email"' in answer.text
    assert office.room.lake.read(Subscription) == []


def test_a_request_of_another_site_and_a_forged_link_are_refused(
    office: Office,
) -> None:
    elsewhere = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    refused = office.browser.post("/subscribe", data=FORM, headers=elsewhere)
    assert refused.status_code == 403
    office.subscribe()
    [row] = office.room.lake.read(Subscription)
    forged = SubscriptionLinks("another secret of 20 characters", "")
    for path in (
        forged.confirming(row.subscription_id),
        forged.ending(row.subscription_id),
        SubscriptionLinks(SECRET, "")
        .ending(row.subscription_id)
        .replace("end", "confirm"),
    ):
        assert office.browser.post(path).status_code == 404
    assert office.room.lake.read(Subscription) == [row]


def test_mails_and_pages_are_in_the_readers_language(office: Office) -> None:
    answer = office.browser.post("/subscribe?lang=pt", data=FORM)
    assert "Veja sua caixa de entrada" in answer.text
    [asking] = office.send()
    text = text_of(asking)
    assert "Confirme em até 48 horas:" in text


def test_without_the_setting_there_are_no_subscriptions(site: str) -> None:
    assert "Subscribe" not in httpx.get(f"{site}/search").text
    assert httpx.get(f"{site}/subscribe").status_code == 404
    assert httpx.post(f"{site}/subscribe", data=FORM).status_code in (404, 405)
