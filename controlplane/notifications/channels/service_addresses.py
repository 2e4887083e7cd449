"""Addresses of services at apprise, built of checked parts, and webhooks' URLs taken apart. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

Parts = Mapping[str, str]
# Nothing fetches a picture, follows a redirect, tries again, or formats what events say.
_OPTIONS = {
    "format": "text",
    "overflow": "truncate",
    "retry": "0",
    "redirect": "no",
    "verify": "yes",
    "store": "no",
    "image": "no",
    "avatar": "no",
}


def _address(scheme: str, authority: str, *path: str, user: str = "", **options: str) -> str:
    """Return an address whose parts are quoted."""
    login = f"{quote(user, safe='')}@" if user else ""
    steps = "".join(f"/{quote(step, safe='')}" for step in path if step)
    return f"{scheme}://{login}{authority}{steps}/?{urlencode({**_OPTIONS, **options})}"


def _scheme(parts: Parts, plain: str) -> str:
    return plain if parts["tls"] == "no" else f"{plain}s"


def ntfy(parts: Parts, key: str) -> str:
    login = {"token": parts["token"], "auth": "token"} if parts["token"] else {}
    return _address(_scheme(parts, "ntfy"), parts["host"], parts["room"], mode="private", **login)


def gotify(parts: Parts, key: str) -> str:
    return _address(_scheme(parts, "gotify"), parts["host"], parts["token"])


def mattermost(parts: Parts, key: str) -> str:
    channel = {"channel": parts["room"]} if parts["room"] else {}
    return _address(_scheme(parts, "mmost"), parts["host"], parts["token"], mode="webhook", **channel)


def rocket_chat(parts: Parts, key: str) -> str:
    scheme = _scheme(parts, "rocket")
    return _address(scheme, parts["host"], parts["room"], mode="webhook", webhook=parts["token"])


def matrix(parts: Parts, key: str) -> str:
    # No discovery: its answer would choose to which server the token goes.
    choices = {"discovery": "no", "hsreq": "no", "e2ee": "no", "mode": "off", "msgtype": "text"}
    return _address(_scheme(parts, "matrix"), parts["host"], parts["room"], token=parts["token"], **choices)


def zulip(parts: Parts, key: str) -> str:
    return _address("zulip", parts["host"], parts["room"], user=parts["user"], token=parts["token"])


def discord(parts: Parts, key: str) -> str:
    return _address("discord", parts["webhook"], parts["token"])


def google_chat(parts: Parts, key: str) -> str:
    return _address("gchat", "chat", workspace=parts["space"], key=parts["key"], token=parts["token"])


def teams(parts: Parts, key: str) -> str:
    options = {"api-version": parts["version"]} if parts["version"] else {}
    options |= {"pa": "yes"} if parts["direct"] else {}
    options |= {"route": parts["route"]} if parts["route"] else {}
    return _address("workflows", parts["host"], parts["workflow"], signature=parts["sig"], **options)


def telegram(parts: Parts, key: str) -> str:
    return _address("tgram", quote(parts["token"], safe=""), parts["room"], detect="no", preview="no")


def webex(parts: Parts, key: str) -> str:
    return _address("webex", "webex", parts["room"], mode="bot", token=parts["token"])


def pushover(parts: Parts, key: str) -> str:
    return _address("pover", parts["token"], user=parts["user_key"], e2ee="no")


def opsgenie(parts: Parts, key: str) -> str:
    # With one alias, the end of an alert is counted at the open alert and opens no second one.
    options = {"apikey": parts["api_key"], "region": parts["region"], "action": "new", "alias": key}
    return _address("opsgenie", "opsgenie", **options)


_DISCORD_URL = re.compile(
    r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks"
    r"/(?P<webhook>[0-9]{1,32})/(?P<token>[A-Za-z0-9_-]{1,128})"
)
_GOOGLE_CHAT_URL = re.compile(
    r"https://chat\.googleapis\.com/v1/spaces/(?P<space>[A-Za-z0-9_-]{1,64})/messages\?(?P<query>.{1,512})"
)
_TEAMS_URL = re.compile(
    r"https://(?P<host>(?:[a-z0-9-]{2,63}\.){1,8}(?:logic\.azure\.(?:com|us|cn)|api\.powerplatform\.com))(?::443)?"
    r"(?P<direct>/powerautomate/automations/direct(?:/cu/(?P<route>[0-9]{1,9}))?)?"
    r"/workflows/(?P<workflow>[A-Za-z0-9_-]{1,64})/triggers/manual/paths/invoke/?\?(?P<query>.{1,1024})"
)
_QUERY_VALUE = re.compile(r"[A-Za-z0-9._=-]{1,512}")


def _query_parts(query: str, names: Mapping[str, str]) -> dict[str, str] | None:
    """Return the values of these parameters by their names here; None if one of them is malformed."""
    given = dict(parse_qsl(query))
    parts = {ours: given.get(theirs, "") for theirs, ours in names.items()}
    return parts if all(_QUERY_VALUE.fullmatch(part) for part in parts.values() if part) else None


def split_discord(url: str) -> Parts | None:
    matched = _DISCORD_URL.fullmatch(url)
    return matched.groupdict() if matched else None


def split_google_chat(url: str) -> Parts | None:
    matched = _GOOGLE_CHAT_URL.fullmatch(url)
    named = _query_parts(matched["query"], {"key": "key", "token": "token"}) if matched else None
    return {"space": matched["space"], **named} if matched and named and all(named.values()) else None


def split_teams(url: str) -> Parts | None:
    matched = _TEAMS_URL.fullmatch(url)
    named = _query_parts(matched["query"], {"sig": "sig", "api-version": "version"}) if matched else None
    if matched is None or named is None or not re.fullmatch(r"[A-Za-z0-9_-]+", named["sig"]):
        return None
    return {name: matched[name] or "" for name in ("host", "direct", "route", "workflow")} | named
