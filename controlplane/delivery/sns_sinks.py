"""Amazon SNS as a kind of sink: CloudEvents in structured mode, sent with the relay's own identity.

Requests are signed by AWS' library and sent by our own guarded client, which connects to checked addresses
alone, has one deadline for everything, and repeats nothing: the schedule of deliveries does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.delivery.ambient_identity import AmbientIdentity, Credentials, IdentityUnavailable
from controlplane.delivery.cloud_topics import (
    REQUEST_SECONDS,
    CloudKind,
    check_endpoint,
    check_installed,
    check_names,
)
from controlplane.delivery.https_exchange import exchange
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting, register_kind
from controlplane.delivery.schedule import Answer, Result
from controlplane.delivery.sns_requests import (
    MOST_BYTES,
    Publication,
    answer_of,
    is_not_accepted,
    publication_of,
)

_KIND = CloudKind("sns", "SNS", "aws", "botocore", ("topic_arn",), ("region", "endpoint"))
_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):sns:(?P<region>[a-z]{2}[a-z0-9-]{1,30}):[0-9]{1,12}"
    r":(?P<name>[A-Za-z0-9_-]{1,256}(\.fifo)?)"
)
_MOST_NAME = 256
_DOMAINS = {"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn"}
# Whether they expire is not known here; a look-up that finds the same again costs little.
_FRESH_SECONDS = 120.0
_FORM = "application/x-www-form-urlencoded; charset=utf-8"


def _look_up() -> Credentials[Any]:
    """Return AWS' credentials from the environment, a file, or the metadata of the machine or container."""
    from botocore.session import Session

    # A session of its own each time: a thread that hangs holds no lock that the next one needs.
    credentials = Session().get_credentials()
    if credentials is None:
        message = "The relay has no credentials of AWS. Give its process a role or AWS_ACCESS_KEY_ID."
        raise IdentityUnavailable(message)
    return Credentials(credentials.get_frozen_credentials(), _FRESH_SECONDS)


AWS_IDENTITY: AmbientIdentity[Any] = AmbientIdentity("AWS", _look_up)


@dataclass(frozen=True, slots=True)
class SnsSender:
    """Publishes to one topic. endpoint: of the sink's settings; empty for AWS' own."""

    topic_arn: str
    endpoint: str = ""

    def send(self, message: Message) -> Sent:
        publication = publication_of(message, self.topic_arn)
        headers = {**publication.attributes, **publication.fifo}
        if publication.subject:
            headers["Subject"] = publication.subject
        if publication.size > MOST_BYTES:
            error = f"The event has {publication.size} bytes. SNS takes at most {MOST_BYTES}."
            return Sent(Answer(Result.REFUSED, error=error), headers)
        try:
            credentials = AWS_IDENTITY.current()
        except IdentityUnavailable as error:
            return Sent(Answer(Result.OUTAGE, error=str(error)), headers)
        return self._publish(publication, headers, credentials)

    def _publish(self, publication: Publication, shown: dict[str, str], credentials: Any) -> Sent:
        arn = _parts(self.topic_arn)
        url = f"{self.endpoint or _endpoint_of(arn)}/"
        body = publication.form(self.topic_arn)
        headers = _signed_headers(url, body, arn["region"], credentials)
        answered = exchange(url, body, headers, seconds=REQUEST_SECONDS, any_address=not self.endpoint)
        if is_not_accepted(answered.response):
            AWS_IDENTITY.forget()
        return Sent(answer_of(answered.answer, answered.response, self.topic_arn), shown, tls=answered.tls)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""


def _signed_headers(url: str, body: bytes, region: str, credentials: Any) -> dict[str, str]:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest("POST", url, data=body, headers={"Content-Type": _FORM})
    SigV4Auth(credentials, "sns", region).add_auth(request)
    return {name: str(value) for name, value in request.headers.items()}


def _parts(topic_arn: str) -> dict[str, str]:
    """Return partition, region and name. Raises InvalidRequest."""
    parts = _ARN.fullmatch(topic_arn)
    if parts is None or len(parts["name"]) > _MOST_NAME:
        message = "A topic is written arn:aws:sns:eu-central-1:123456789012:name."
        raise invalid_setting("/config/topic_arn", message)
    return parts.groupdict()


def _endpoint_of(arn: Mapping[str, str]) -> str:
    return f"https://sns.{arn['region']}.{_DOMAINS[arn['partition']]}"


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    check_names(_KIND, config, credentials)
    arn = _parts(config["topic_arn"])
    if config.get("region", arn["region"]) != arn["region"]:
        message = f"The topic is in {arn['region']}. Omit the region, or give the same."
        raise invalid_setting("/config/region", message)
    if arn["partition"] not in _DOMAINS and not config.get("endpoint"):
        message = f"The addresses of {arn['partition']} are not known. Give the endpoint of SNS there."
        raise invalid_setting("/config/endpoint", message)
    check_installed(_KIND)
    check_endpoint(config.get("endpoint", ""))


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> SnsSender:
    check_installed(_KIND)
    return SnsSender(config["topic_arn"], config.get("endpoint", "").rstrip("/"))


SNS = register_kind(SinkKind("sns", _check, _open, is_of_platform=lambda config: True))
