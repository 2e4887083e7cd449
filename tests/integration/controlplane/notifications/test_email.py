"""E-mail, proven by what a real SMTP server has accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from controlplane.delivery.models import Delivery
from controlplane.errors import InvalidRequest
from controlplane.events import log
from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action
from controlplane.notifications.channels.email import _pool
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import report
from tests.support.mail_server import PASSWORD, USER, MailServer, running_mail_server

pytestmark = pytest.mark.django_db(transaction=True)
declare_audience("letter", Action.AUDIT_READ)
LETTER_WRITTEN = register("letter.written", "A test wrote a letter.", title=TEXT, error=TEXT)


@pytest.fixture
def mail(tmp_path: Path, settings: Any) -> Iterator[MailServer]:
    with running_mail_server(tmp_path) as server:
        settings.SMTP_HOST, settings.SMTP_PORT = "127.0.0.1", server.port
        settings.SMTP_USERNAME, settings.SMTP_PASSWORD = USER.decode(), PASSWORD.decode()
        settings.SMTP_CA_FILE = str(server.ca_file)
        settings.SMTP_SENDER = "Controlplane <alerts@example.com>"
        yield server
        _pool._idle.clear()


@pytest.fixture
def write(make_channel, make_rule, office):
    """Write a letter that goes to a@ and b@example.com."""
    channel = make_channel("email", config={"to": ["a@example.com", "b@example.com"]})
    terms = {"subject": "{{ data.title }}", "body": "{{ data.error }}", "mode": "paged"}
    make_rule(channel, types=["letter.written"], **terms)

    def write(title: str, error: str = "") -> None:
        with transaction.atomic():
            data = {"title": title, "error": error}
            log.append(LETTER_WRITTEN, "letter", title[:50], data=data, actor="test")
        office.run()

    return write


def test_begin_and_end_of_an_alert_are_a_thread_for_each_recipient(mail, make_channel, make_rule, office):
    channel = make_channel("email", config={"to": ["a@example.com"], "cc": ["b@example.com"]})
    make_rule(channel, mode="paged", severity="critical")
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    report(State.READY, "eu-1")
    office.run()

    to_a = [one for one in mail.received if one["To"] == "a@example.com"]
    assert [one["To"] for one in mail.received].count("b@example.com") == 2
    first, last = to_a
    assert [one["Subject"] for one in to_a] == [
        "agent unavailable: eu-1",
        "Resolved: agent unavailable: eu-1",
    ]
    assert last["In-Reply-To"] == last["References"] == first["Message-ID"] != last["Message-ID"]
    assert first["List-Unsubscribe"] == "<mailto:alerts@example.com?subject=unsubscribe>"
    assert (first["From"], first["Cc"]) == ("Controlplane <alerts@example.com>", "b@example.com")
    assert "environment: prod" in first.get_body(("plain",)).get_content()
    # One login for all: connections are kept.
    assert mail.logins < len(mail.received) == 4


def test_values_are_escaped_in_html_and_begin_no_header(mail, write):
    write("quiet\r\nBcc: thief@example.com", "<script>alert('x')</script> & more")
    first = mail.received[0]
    assert first["Bcc"] is None
    assert first["Subject"] == "quiet Bcc: thief@example.com"
    assert "<script>" in first.get_body(("plain",)).get_content()
    html = first.get_body(("html",)).get_content()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_refused_recipient_stops_nobody_else_and_is_not_asked_again(mail, write):
    mail.refused = {"a@example.com"}
    write("news")
    assert [one["To"] for one in mail.received] == ["b@example.com"]
    rows = Delivery.objects.order_by("key").values_list("state", "last_status", "attempt")
    assert sorted(rows) == [("dead", 550, 1), ("delivered", 250, 1)]


def test_an_error_of_ten_megabytes_is_cut(mail, write):
    write("big", "x" * 10_000_000)
    text = mail.received[0].get_body(("plain",)).get_content()
    assert "… (cut)" in text
    assert len(mail.received[0].as_bytes()) < 100_000


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"SMTP_PASSWORD": "wrong"}, "535"),
        ({"SMTP_CA_FILE": ""}, "TLS was refused"),
        ({"SMTP_PORT": 1}, "connection to the SMTP server failed"),
        ({"SMTP_HOST": ""}, "SMTP_HOST and SMTP_SENDER must be set"),
    ],
)
def test_what_can_be_mended_is_tried_again(mail, write, settings, change, part):
    for name, value in change.items():
        setattr(settings, name, value)
    write("news")
    delivery = Delivery.objects.first()
    assert (delivery.state, delivery.attempt) == ("waiting", 1)
    assert part in delivery.last_error
    assert not mail.received


def test_an_address_with_a_line_break_is_refused(make_channel):
    with pytest.raises(InvalidRequest, match="line break"):
        make_channel("email", config={"to": ["a@example.com\r\nBcc: thief@example.com"]})
