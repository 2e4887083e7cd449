"""Settings of sinks at SNS and Pub/Sub that are refused, with where and why."""

from __future__ import annotations

import pytest
import yaml

from controlplane.access.teams.teams import create_team
from controlplane.delivery import cloud_topics, pubsub_sinks, sns_sinks
from controlplane.delivery.models import Sink
from controlplane.delivery.pubsub_sinks import PUBSUB
from controlplane.delivery.sns_sinks import SNS
from controlplane.errors import InvalidRequest
from controlplane.identity.actors import Actor
from tests.support.api_client import Api, token_for
from tests.support.cloud_topics import BOTH, TOPIC, create_sink_of
from tests.support.guide_programs import example


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("https://pubsub.googleapis.com", True),
        ("https://europe-west1-pubsub.googleapis.com", True),
        ("http://pubsub.googleapis.com", False),
        ("https://pubsub.googleapis.com.example.com", False),
        ("https://evilgoogleapis.com", False),
        ("https://example.com/.googleapis.com", False),
    ],
)
def test_which_endpoints_get_a_token(endpoint, expected):
    assert pubsub_sinks._gets_token(endpoint) is expected


@pytest.mark.parametrize(
    ("kind", "config", "pointer"),
    [
        (SNS, {}, "/config/topic_arn"),
        (SNS, {"topic_arn": "events"}, "/config/topic_arn"),
        (SNS, {"topic_arn": TOPIC.replace(":sns:", ":sqs:")}, "/config/topic_arn"),
        (SNS, {"topic_arn": f"{TOPIC}:x"}, "/config/topic_arn"),
        (SNS, {"topic_arn": TOPIC.replace("eu-central-1", "x.example.com")}, "/config/topic_arn"),
        (SNS, {"topic_arn": TOPIC + 251 * "x"}, "/config/topic_arn"),
        (SNS, {"topic_arn": TOPIC, "region": "us-east-1"}, "/config/region"),
        (SNS, {"topic_arn": TOPIC, "url": "x"}, "/config/url"),
        (SNS, {"topic_arn": TOPIC.replace(":aws:", ":aws-iso:")}, "/config/endpoint"),
        (PUBSUB, {"topic": "events"}, "/config/project"),
        (PUBSUB, {"project": "my-project"}, "/config/topic"),
        (PUBSUB, {"project": "My/Project", "topic": "events"}, "/config/project"),
        (PUBSUB, {"project": "my-project", "topic": "goog-events"}, "/config/topic"),
        (PUBSUB, {"project": "my-project", "topic": "a/b"}, "/config/topic"),
    ],
)
def test_settings_with_which_nothing_could_be_sent_are_refused(kind, config, pointer):
    with pytest.raises(InvalidRequest) as refused:
        kind.check(config, {})
    assert [error.pointer for error in refused.value.errors] == [pointer]


@pytest.mark.parametrize(("kind", "config"), BOTH)
@pytest.mark.parametrize(
    ("endpoint", "part"),
    [
        ("https://169.254.169.254", "private address"),
        ("https://user:pw@127.0.0.1", "user name"),
        ("http://127.0.0.1", "must begin with https://"),
        ("ftp://127.0.0.1", "must begin with https://"),
        ("https://127.0.0.1/path", "without a path"),
        ("https://127.0.0.1:x", "malformed"),
        ("https://no-such-host.invalid", "cannot be resolved"),
    ],
)
def test_endpoints_that_are_not_allowed_are_refused(kind, config, endpoint, part, settings):
    settings.WEBHOOK_ALLOW_HTTP = False
    with pytest.raises(InvalidRequest, match=part) as refused:
        kind.check({**config, "endpoint": endpoint}, {})
    assert [error.pointer for error in refused.value.errors] == ["/config/endpoint"]


@pytest.mark.parametrize(
    ("arn", "endpoint"),
    [
        (TOPIC, "https://sns.eu-central-1.amazonaws.com"),
        ("arn:aws-cn:sns:cn-north-1:123456789012:x", "https://sns.cn-north-1.amazonaws.com.cn"),
        ("arn:aws-us-gov:sns:us-gov-west-1:123456789012:x", "https://sns.us-gov-west-1.amazonaws.com"),
    ],
)
def test_endpoints_of_aws_follow_from_the_topic(arn, endpoint):
    assert sns_sinks._endpoint_of(sns_sinks._parts(arn)) == endpoint


@pytest.mark.parametrize(("kind", "config"), BOTH)
def test_credentials_are_refused_since_the_relay_has_an_identity(kind, config):
    kind.check(config, {})
    with pytest.raises(InvalidRequest, match="own identity") as refused:
        kind.check(config, {"secret": "x"})
    assert [error.pointer for error in refused.value.errors] == ["/credentials/secret"]


@pytest.mark.parametrize(("kind", "config", "extra"), [(*BOTH[0], "aws"), (*BOTH[1], "gcp")])
def test_a_missing_package_is_named(kind, config, extra, monkeypatch):
    monkeypatch.setattr(cloud_topics, "find_spec", lambda name: None)
    with pytest.raises(InvalidRequest, match=rf"Install controlplane\[{extra}\]") as refused:
        kind.check(config, {})
    assert [error.pointer for error in refused.value.errors] == ["/kind"]


@pytest.mark.django_db
@pytest.mark.parametrize(("kind", "config"), BOTH)
def test_a_team_has_no_such_sinks(kind, config, creator):
    create_team("eu", actor=Actor(creator.id, creator.name))
    refused = create_sink_of(kind.name, config, team="eu")
    assert [error["pointer"] for error in refused.json()["errors"]] == ["/team"]
    assert "Only the platform" in refused.text
    assert not Sink.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["sns", "pubsub"])
def test_the_sinks_of_the_guide_are_created(kind):
    created = Api(token_for("admin")).post("sinks", {"name": kind, **yaml.safe_load(example(f"{kind}.yaml"))})
    assert (created.status_code, created.json()["kind"]) == (201, kind)
