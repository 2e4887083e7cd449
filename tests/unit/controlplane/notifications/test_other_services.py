"""Addresses of services at apprise, what is sent there, and parts that are refused."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.delivery.https_exchange import Exchange
from controlplane.delivery.schedule import Answer, Result
from controlplane.errors import InvalidRequest
from controlplane.notifications.channels import apprise_client
from controlplane.notifications.channels.other_services import CHANNEL, parts_of
from controlplane.notifications.channels.service_texts import Style, words
from controlplane.notifications.channels.services import SERVICES, Service

TEAMS_URL = (
    "https://prod-1.westus.logic.azure.com:443/workflows/643e69f8/triggers/manual/paths/invoke"
    "?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=KXuQ_-1"
)
POWER_URL = (
    "https://default1.04.environment.api.powerplatform.com/powerautomate/automations/direct/cu/12"
    "/workflows/643e69f8/triggers/manual/paths/invoke?api-version=1&sp=x&sv=1.0&sig=KXuQ_-1"
)
TOKEN = "Secret0123456789"
# Of each service: settings, credentials, and what its server must see of them.
SAMPLES: dict[str, tuple[dict[str, Any], dict[str, str], list[str]]] = {
    "discord": (
        {},
        {"webhook_url": f"https://discord.com/api/webhooks/123/{TOKEN}"},
        [f"https://discord.com/api/webhooks/123/{TOKEN}"],
    ),
    "googlechat": (
        {},
        {"webhook_url": f"https://chat.googleapis.com/v1/spaces/AAA/messages?key=k_-1&token={TOKEN}%3D"},
        ["https://chat.googleapis.com/v1/spaces/AAA/messages", "key=k_-1", f"token={TOKEN}%3D"],
    ),
    "gotify": (
        {"host": "g.example.com:8443"},
        {"token": TOKEN},
        ["https://g.example.com:8443/message", TOKEN],
    ),
    "matrix": (
        {"host": "m.example.com", "room": "!abc:example.com"},
        {"token": TOKEN},
        ["https://m.example.com/_matrix/client/v3/account/whoami", f"Bearer {TOKEN}"],
    ),
    "mattermost": (
        {"host": "mm.example.com", "room": "ops"},
        {"token": TOKEN},
        [f"https://mm.example.com/hooks/{TOKEN}", '"channel": "ops"'],
    ),
    "msteams": (
        {},
        {"webhook_url": TEAMS_URL},
        ["https://prod-1.westus.logic.azure.com/workflows/643e69f8/triggers", "sig=KXuQ_-1"],
    ),
    "ntfy": (
        {"room": "on-call"},
        {"token": f"tk_{TOKEN}"},
        ["https://ntfy.sh/", '"topic": "on-call"', f"Bearer tk_{TOKEN}"],
    ),
    "opsgenie": (
        {"region": "eu"},
        {"api_key": TOKEN},
        ["https://api.eu.opsgenie.com/v2/alerts", f"GenieKey {TOKEN}", '"alias": "message-1"'],
    ),
    "pushover": (
        {},
        {"token": TOKEN, "user_key": "user0"},
        ["https://api.pushover.net/1/messages.json", "user=user0"],
    ),
    "rocketchat": (
        {"host": "rc.example.com", "room": "#ops"},
        {"token": f"id0/{TOKEN}"},
        [f"https://rc.example.com/hooks/id0/{TOKEN}", '"channel": "#ops"'],
    ),
    "telegram": (
        {"room": "-100123"},
        {"token": f"123456:{TOKEN}"},
        [f"https://api.telegram.org/bot123456:{TOKEN}/sendMessage", "-100123"],
    ),
    "webex": (
        {"room": "Y2lz="},
        {"token": TOKEN},
        ["https://webexapis.com/v1/messages", f"Bearer {TOKEN}", '"roomId": "Y2lz="'],
    ),
    "zulip": (
        {"host": "example.zulipchat.com", "user": "cp-bot", "room": "ops"},
        {"token": "a" * 32},
        ["https://example.zulipchat.com/api/v1/messages", "to=ops", "topic=agents"],
    ),
}
DATA = {
    "subject": "agent unavailable: eu-1",
    "text": "@everyone [see](https://evil.example) `x` <users/all>",
    "rule": "agents",
    "url": "https://cp.example.com/alerts",
}


# Opsgenie and Matrix name what they have made.
CONFIRMATION = b'{"requestId":"r","room_id":"!abc:example.com"}'


class Wire:
    """Records requests in the place of the exchange with a server."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, answer: Answer | None = None, body: bytes = CONFIRMATION
    ) -> None:
        self.made: list[tuple[str, str, str]] = []
        self.answer, self.body = answer or Answer(Result.DELIVERED, 200), body
        monkeypatch.setattr(apprise_client, "exchange", self._exchange)

    def _exchange(self, url: str, body: bytes, headers: Any, *, seconds: float, method: str) -> Exchange:
        self.made.append((method, url, f"{url} {headers} {body.decode()}"))
        return Exchange(self.answer, body=self.body)


def plugin_of(service: Service, parts: Any) -> Any:
    return apprise_client.open_plugin(*service.plugin, service.address(parts, "message-1"))


def send(name: str, data: Any = DATA) -> Exchange:
    service = SERVICES[name]
    config, credentials, _ = SAMPLES[name]
    title, text = words(data, service.style, service.most)
    plugin = plugin_of(service, parts_of(service, config, credentials))
    return apprise_client.send_note(plugin, title, text, "warning", seconds=5)


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_asked_by_our_exchange_at_its_own_address(monkeypatch, name):
    wire = Wire(monkeypatch)
    assert send(name).answer.result is Result.DELIVERED
    seen = wire.made[0][2]
    assert [part for part in SAMPLES[name][2] if part not in seen] == []
    assert len(wire.made) == (3 if name == "matrix" else 1)
    # Of pictures, and of apprise itself.
    assert "githubusercontent" not in seen
    assert "Apprise" not in seen


def test_matrix_sends_to_the_room_alone(monkeypatch):
    wire = Wire(monkeypatch)
    send("matrix")
    paths = [(method, urlsplit(url).path.rpartition("/v3")[2]) for method, url, _ in wire.made]
    assert paths[:2] == [("GET", "/account/whoami"), ("POST", "/join/%21abc%3Aexample.com")]
    assert paths[2][0] == "PUT"
    assert paths[2][1].startswith("/rooms/%21abc%3Aexample.com/send/m.room.message/")


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "matrix"])
def test_a_receiver_that_asks_to_wait_is_asked_once(monkeypatch, name):
    wire = Wire(monkeypatch, Answer(Result.CLIENT_ERROR, 429, "30", "The receiver answered with 429."))
    answer = send(name).answer
    assert (answer.status, answer.retry_after, len(wire.made)) == (429, "30", 1)


@pytest.mark.parametrize("name", SERVICES)
def test_an_answer_that_refuses_is_the_answer(monkeypatch, name):
    Wire(monkeypatch, Answer(Result.REDIRECT, 302, error="The receiver answered with 302."))
    assert send(name).answer == Answer(Result.REDIRECT, 302, error="The receiver answered with 302.")


def test_power_automates_newer_urls_are_kept(monkeypatch):
    wire, service = Wire(monkeypatch), SERVICES["msteams"]
    plugin = plugin_of(service, parts_of(service, {}, {"webhook_url": POWER_URL}))
    apprise_client.send_note(plugin, "a", "b", "info", seconds=5)
    made, wanted = urlsplit(wire.made[0][1]), urlsplit(POWER_URL)
    assert (made.netloc, made.path) == (wanted.netloc, wanted.path)
    assert parse_qs(made.query)["sig"] == ["KXuQ_-1"]
    assert parse_qs(made.query)["api-version"] == ["1"]


@pytest.mark.parametrize(
    "name", [name for name, service in SERVICES.items() if service.style in (Style.FENCED, Style.TOPIC)]
)
def test_what_events_say_is_in_a_code_block_that_it_cannot_end(monkeypatch, name):
    wire = Wire(monkeypatch)
    send(name, {**DATA, "text": "a\n```\n@everyone <users/all>\n````"})
    body = wire.made[0][2] if name != "zulip" else parse_qs(wire.made[0][2].rpartition("} ")[2])["content"][0]
    assert body.count("```") == 2
    assert "@everyone" not in body
    assert "<users" not in body


def test_what_events_say_is_escaped_in_cards(monkeypatch):
    wire = Wire(monkeypatch)
    send("msteams", {**DATA, "text": "<at>all</at> [a](https://evil.example)"})
    card = json.loads(wire.made[0][2].rpartition("} {")[0] and "{" + wire.made[0][2].partition("} {")[2])
    content = card["attachments"][0]["content"]
    assert "entities" not in content["msteams"]
    assert "\\[a\\]\\(https" in content["body"][1]["text"]


def test_telegram_gets_text_and_no_tags(monkeypatch):
    wire = Wire(monkeypatch)
    send("telegram", {**DATA, "text": '<a href="https://evil.example">x</a>'})
    assert "&lt;a href" in wire.made[0][2]


@pytest.mark.parametrize("character", ["x", "é", "&", "`", "*", "\n", "\N{ROCKET}"])
@pytest.mark.parametrize("name", SERVICES)
def test_long_texts_are_one_request_that_ends_with_the_address_of_the_alerts(monkeypatch, name, character):
    wire = Wire(monkeypatch)
    send(name, {**DATA, "text": f"a{character * 20_000}b"})
    assert len(wire.made) == (3 if name == "matrix" else 1)
    assert unquote_plus(wire.made[-1][2]).rstrip('}"]').count(DATA["url"]) == 1


PATTERNS = [
    (name, where, part)
    for name, service in SERVICES.items()
    for where in ("config", "credentials")
    for part in getattr(service, where)
    if part != "webhook_url"
]
HOSTS = st.from_regex(
    r"[a-z][a-z0-9]{1,10}(-[a-z0-9]{2,8})?(\.[a-z][a-z0-9]{1,10}){1,3}(:[1-9][0-9]{1,3})?", fullmatch=True
)


def values_of(name: str, part: str, pattern: str) -> st.SearchStrategy[str]:
    if part == "host":
        return HOSTS.map(lambda host: host.partition(":")[0]) if name == "zulip" else HOSTS
    pattern = pattern.replace("(?=.{1,253}(?::|$))", "")
    return st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="ascii"))


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service.split is None])
@given(chosen=st.data())
def test_apprise_reads_the_same_parts_as_were_written(name, chosen):
    service = SERVICES[name]
    config = {key: chosen.draw(values_of(name, key, part.pattern)) for key, part in service.config.items()}
    credentials = {
        key: chosen.draw(values_of(name, key, part.pattern)) for key, part in service.credentials.items()
    }
    parts = parts_of(service, config, credentials)
    with pytest.MonkeyPatch.context() as patch:
        wire = Wire(patch, Answer(Result.CLIENT_ERROR, 400))
        plugin = plugin_of(service, parts)
        assert plugin is not None
        apprise_client.send_note(plugin, "title", "text", "info", seconds=5)
    _, url, seen = wire.made[0]
    if "host" in config:
        assert urlsplit(url).netloc == config["host"]
    for secret in credentials.values():
        # Two of them are user names and passwords, which go out as base64.
        assert secret in seen or secret == plugin.token, (seen, credentials)
    assert plugin.redirects is False
    assert plugin.retry == 0


@pytest.mark.parametrize(("name", "where", "part"), PATTERNS)
@given(
    start=st.text(alphabet="QXZ", min_size=5, max_size=9),
    bad=st.sampled_from("/?#&%\\ \n\r\0;,|\"'<>é{}"),
)
def test_parts_that_could_mean_something_in_an_address_are_refused(name, where, part, start, bad):
    config, credentials, _ = SAMPLES[name]
    given_parts = {"config": {"service": name, **config}, "credentials": dict(credentials)}
    for value in (f"{start}{bad}{start}", f"{start}{bad}", f"{bad}{start}"):
        if (name, part, bad) in (("rocketchat", "token", "/"), ("rocketchat", "room", "#")):
            continue
        given_parts[where][part] = value
        with pytest.raises(InvalidRequest) as refused:
            CHANNEL.kind.check(given_parts["config"], given_parts["credentials"])
        assert refused.value.errors[0].pointer == f"/{where}/{part}"
        if where == "credentials":
            assert value not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("discord", "https://discord.com.evil.example/api/webhooks/123/abc"),
        ("discord", "https://discord.com/api/webhooks/123/abc?wait=true"),
        ("discord", "discord://123/abc"),
        ("googlechat", "https://chat.googleapis.com/v1/spaces/A/messages?key=k"),
        ("googlechat", "https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=a%26b"),
        ("msteams", TEAMS_URL.replace("logic.azure.com:443", "evil.example")),
        ("msteams", TEAMS_URL.replace("prod-1.westus.logic.azure.com", "evil.example/logic.azure.com")),
        ("msteams", TEAMS_URL.replace("sig=", "sog=")),
        ("msteams", TEAMS_URL.replace("https", "http")),
    ],
)
def test_urls_of_other_places_are_refused(name, url):
    with pytest.raises(InvalidRequest) as refused:
        CHANNEL.kind.check({"service": name}, {"webhook_url": url})
    assert refused.value.errors[0].pointer == "/credentials/webhook_url"
    assert url not in str(refused.value)


def test_plugins_cannot_ask_outside_of_an_attempt(monkeypatch):
    wire = Wire(monkeypatch)
    service = SERVICES["ntfy"]
    plugin = plugin_of(service, parts_of(service, *SAMPLES["ntfy"][:2]))
    assert plugin.notify(body="x") is False
    assert wire.made == []


def test_without_the_package_the_kind_is_refused(monkeypatch):
    monkeypatch.setattr("controlplane.extras.find_spec", lambda package: None)
    config, credentials, _ = SAMPLES["telegram"]
    with pytest.raises(InvalidRequest, match=r"controlplane\[apprise\]") as refused:
        CHANNEL.kind.check({"service": "telegram", **config}, credentials)
    assert refused.value.errors[0].pointer == "/kind"
