"""Services that apprise sends to: what each needs, and its address at apprise, built of checked parts. Pure.

Every part has a pattern without characters that mean something in an address: apprise decodes parts more
than once, so that quoting alone does not keep a part from becoming an option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controlplane.notifications.channels import service_addresses
from controlplane.notifications.channels.service_addresses import Parts
from controlplane.notifications.channels.service_texts import Style


@dataclass(frozen=True, slots=True)
class Part:
    """A setting or a credential. pattern: of its whole value. form: how people write it."""

    pattern: str
    form: str
    is_optional: bool = False
    default: str = ""

    def accepts(self, value: str) -> bool:
        # Without ASCII, `\d` has the digits of all scripts.
        return re.fullmatch(self.pattern, value, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class Service:
    """A service. plugin: apprise's module and class. address: at apprise, of parts and a message's key.

    most: characters of a text. has_tls_choice: an own server, which can be asked without TLS for trials.
    split: takes a webhook's URL apart; None if it is no URL of this service.
    """

    plugin: tuple[str, str]
    address: Callable[[Parts, str], str]
    credentials: Mapping[str, Part]
    config: Mapping[str, Part] = field(default_factory=dict)
    style: Style = Style.PLAIN
    most: int = 3000
    has_tls_choice: bool = False
    split: Callable[[str], Parts | None] | None = None


# apprise refuses labels of a single digit; the resolver refuses what is no name.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = rf"(?=.{{1,253}}(?::|$)){_LABEL}(?:\.{_LABEL})*"
_HOST = Part(
    rf"{_NAME}(?::[1-9][0-9]{{0,4}})?", "a host name, with a port if needed, such as chat.example.com"
)


def _token(form: str, pattern: str = r"[A-Za-z0-9._~=-]{1,512}") -> Part:
    return Part(pattern, form)


def _webhook_url(form: str) -> Mapping[str, Part]:
    return {"webhook_url": Part(r"[!-~]{1,2000}", form)}


_CHANNEL = Part(
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "the name of a channel, such as on-call", is_optional=True
)
_ROOM = Part(r"[#@]?[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "a channel, such as #on-call", is_optional=True)
SERVICES: Mapping[str, Service] = {
    "discord": Service(
        ("discord", "NotifyDiscord"),
        service_addresses.discord,
        _webhook_url("https://discord.com/api/webhooks/ID/TOKEN"),
        style=Style.FENCED,
        most=1700,
        split=service_addresses.split_discord,
    ),
    "googlechat": Service(
        ("google_chat", "NotifyGoogleChat"),
        service_addresses.google_chat,
        _webhook_url("https://chat.googleapis.com/v1/spaces/SPACE/messages?key=KEY&token=TOKEN"),
        style=Style.FENCED,
        split=service_addresses.split_google_chat,
    ),
    "gotify": Service(
        ("gotify", "NotifyGotify"),
        service_addresses.gotify,
        {"token": _token("the token of an application")},
        {"host": _HOST},
        has_tls_choice=True,
    ),
    "matrix": Service(
        ("matrix.base", "NotifyMatrix"),
        service_addresses.matrix,
        {"token": _token("the access token of a user")},
        {
            "host": _HOST,
            "room": Part(
                rf"![A-Za-z0-9._=-]{{1,128}}(?::{_NAME})?", "the id of a room, such as !abc:example.com"
            ),
        },
        style=Style.UNTITLED,
        has_tls_choice=True,
    ),
    "mattermost": Service(
        ("mattermost", "NotifyMattermost"),
        service_addresses.mattermost,
        {"token": _token("the last part of an incoming webhook's URL", r"[A-Za-z0-9]{1,128}")},
        {"host": _HOST, "room": _CHANNEL},
        style=Style.FENCED,
        has_tls_choice=True,
    ),
    "msteams": Service(
        ("workflows", "NotifyWorkflows"),
        service_addresses.teams,
        _webhook_url("the URL of a workflow that begins when a webhook request is received"),
        style=Style.ESCAPED,
        most=900,
        split=service_addresses.split_teams,
    ),
    "ntfy": Service(
        ("ntfy", "NotifyNtfy"),
        service_addresses.ntfy,
        {"token": Part(r"tk_[A-Za-z0-9]{1,128}", "an access token, such as tk_…", is_optional=True)},
        {
            "host": Part(_HOST.pattern, _HOST.form, is_optional=True, default="ntfy.sh"),
            "room": Part(r"[A-Za-z0-9_-]{1,64}", "a topic, such as on-call"),
        },
        # Longer ones become attachments.
        most=1200,
        has_tls_choice=True,
    ),
    "opsgenie": Service(
        ("opsgenie", "NotifyOpsgenie"),
        service_addresses.opsgenie,
        {"api_key": _token("the key of an API integration", r"[A-Za-z0-9-]{1,64}")},
        {"region": Part(r"us|eu", "`us` or `eu`", is_optional=True, default="us")},
    ),
    "pushover": Service(
        ("pushover", "NotifyPushover"),
        service_addresses.pushover,
        {
            "token": _token("the token of an application", r"[A-Za-z0-9]{1,64}"),
            "user_key": _token("the key of a user or group", r"[A-Za-z0-9]{1,64}"),
        },
        most=900,
    ),
    "rocketchat": Service(
        ("rocketchat", "NotifyRocketChat"),
        service_addresses.rocket_chat,
        {"token": Part(r"[A-Za-z0-9]{1,64}/[A-Za-z0-9]{1,128}", "ID/TOKEN, the end of a webhook's URL")},
        {"host": _HOST, "room": _ROOM},
        style=Style.FENCED,
        most=800,
        has_tls_choice=True,
    ),
    "telegram": Service(
        ("telegram", "NotifyTelegram"),
        service_addresses.telegram,
        {"token": Part(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,128}", "a bot's token, such as 123456:ABC…")},
        {
            "room": Part(
                r"-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31}", "a chat's id, or @ and a channel's name"
            )
        },
        style=Style.TAGGED,
        # apprise makes line ends of two characters, and cuts at 4096.
        most=2000,
    ),
    "webex": Service(
        ("webexteams", "NotifyWebexTeams"),
        service_addresses.webex,
        {"token": _token("the access token of a bot")},
        {"room": Part(r"[A-Za-z0-9_=-]{1,256}", "the id of a space")},
        style=Style.UNTITLED,
    ),
    "zulip": Service(
        ("zulip", "NotifyZulip"),
        service_addresses.zulip,
        {"token": Part(r"[A-Za-z0-9]{32}", "the API key of a bot, which has 32 letters and digits")},
        {
            "host": Part(
                rf"(?=[A-Za-z0-9-]{{1,32}}\.){_NAME}",
                "a server, such as example.zulipchat.com, without a port",
            ),
            "user": Part(r"[A-Za-z0-9_-]{1,32}", "the name of a bot, such as controlplane-bot"),
            "room": _CHANNEL,
        },
        style=Style.TOPIC,
    ),
}
