"""Laws of configurations: normalised documents are stable, and secrets are nowhere but in their own field."""

from __future__ import annotations

import base64
import json
import traceback

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controlplane.formats import strict_yaml
from registry.plugins.documents.canonical import canonical_json, digest
from registry.plugins.documents.configuration import read_configuration, read_configuration_value
from registry.plugins.documents.content import to_document

NAMES = st.from_regex(r"[a-z0-9](?:[a-z0-9_-]{0,8}[a-z0-9])?", fullmatch=True)
AUTHS = st.sampled_from(
    [
        None,
        {"type": "none"},
        {"type": "bearer", "secretRef": "token"},
        {"type": "basic", "username": "me", "env": "PASSWORD"},
        {"type": "header", "header": "X-Key", "file": "/run/key"},
    ]
)
CONFIGS = st.dictionaries(
    st.sampled_from(["executor_image", "executor_version", "mode", "debug", "size"]),
    st.sampled_from(["a/b", "c"]),
)
ENTRY_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from(["1.2", ">=1.2, <2", "==snapshot", "~=1.4"]),
        "checksum": st.binary(min_size=32, max_size=32).map(
            lambda value: f"sha256-{base64.b64encode(value).decode()}"
        ),
        "signature": st.sampled_from(
            [{"policy": "off"}, {"type": "sigstore", "identity": "i", "issuer": "s"}]
        ),
        "enabled": st.booleans(),
        "requires_server": st.just(">=0.1"),
        "config": CONFIGS,
    },
)
PROVIDER_OPTIONS = st.fixed_dictionaries(
    {"auth": AUTHS},
    optional={
        "prefix": st.sampled_from(["a", "a/b/"]),
        "timeout": st.just("90s"),
        "retries": st.integers(0, 10),
    },
)


@st.composite
def documents(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    providers = [
        {"name": name, "type": "url", "url": "https://host/", **draw(PROVIDER_OPTIONS)} for name in names
    ]
    entries = [
        {"provider": draw(st.sampled_from(names)), "output": output, "path": "a/b.tgz", **draw(ENTRY_OPTIONS)}
        for output in draw(st.lists(NAMES, max_size=4, unique=True))
    ]
    return {"plugins": {"providers": providers, "plugins": entries}}


def shuffled(value, random):
    if isinstance(value, dict):
        members = [(name, shuffled(inner, random)) for name, inner in value.items()]
        random.shuffle(members)
        return dict(members)
    return [shuffled(inner, random) for inner in value] if isinstance(value, list) else value


@given(documents())
def test_reading_a_normalised_document_gives_itself(document):
    reading = read_configuration_value(document)
    assert reading.errors == ()

    normalised = to_document(reading.content.configuration)
    again = read_configuration(json.dumps(normalised)).content
    assert again.configuration == reading.content.configuration
    assert to_document(again.configuration) == normalised
    assert again.secrets == ()


@given(documents())
def test_yaml_and_json_are_read_alike(document):
    assert (
        read_configuration(strict_yaml.dump(document)).content == read_configuration_value(document).content
    )


@given(documents(), st.randoms(use_true_random=False))
def test_the_canonical_form_is_stable_under_the_order_of_members(document, random):
    other = shuffled(document, random)

    first = to_document(read_configuration_value(document).content.configuration)
    second = to_document(read_configuration_value(other).content.configuration)
    assert canonical_json(first) == canonical_json(second)
    assert digest(first) == digest(shuffled(first, random))


SECRETS = st.from_regex(r"S3cr3t-[A-Za-z0-9]{20}", fullmatch=True)
URL = {"name": "web", "type": "url", "url": "https://host"}
GCS = {"name": "bucket", "type": "gcs", "bucket": "team-plugins"}


def service_account(secret):
    return base64.b64encode(json.dumps({"type": "service_account", "private_key": secret}).encode()).decode()


# Everywhere a person could put a secret by mistake, and the one place where it is accepted.
MISPLACED = {
    "service account": lambda secret: {**GCS, "service_account": service_account(secret)},
    "service account without encoding": lambda secret: {**GCS, "service_account": secret},
    "service account of another type": lambda secret: {**URL, "service_account": service_account(secret)},
    "password": lambda secret: {**URL, "auth": {"type": "basic", "username": "me", "password": secret}},
    "reference": lambda secret: {**URL, "auth": {"type": "bearer", "secretRef": f"{secret}!"}},
    "variable": lambda secret: {**URL, "auth": {"type": "bearer", "env": secret}},
    "header": lambda secret: {**URL, "auth": {"type": "header", "header": f"X: {secret}", "env": "A"}},
    "auth itself": lambda secret: {**URL, "auth": secret},
    "type": lambda secret: {**URL, "auth": {"type": secret}},
    "user": lambda secret: {**URL, "url": f"https://{secret}@host"},
    "user and password": lambda secret: {**URL, "url": f"https://me:{secret}@host"},
    "query": lambda secret: {**URL, "url": f"https://host/?token={secret}"},
    "timeout": lambda secret: {**URL, "timeout": secret},
    "region": lambda secret: {"name": "s", "type": "s3", "bucket": "team-plugins", "region": f"{secret}!"},
    "bucket": lambda secret: {**GCS, "bucket": secret},
}
MISPLACED_IN_ENTRIES = {
    "config": lambda secret: {"config": {"api_token": secret}},
    "version": lambda secret: {"version": f">={secret}"},
    "checksum": lambda secret: {"checksum": secret},
    "path": lambda secret: {"path": f"a.zip?token={secret}"},
    "output": lambda secret: {"output": secret},
    "provider": lambda secret: {"provider": secret},
    "signature": lambda secret: {"signature": {"type": "ed25519", "publicKey": secret}},
    "image": lambda secret: {"config": {"executor_image": f"host/{secret}"}},
}


def assert_hidden(document, secret):
    for reading in (read_configuration_value(document), read_configuration(yaml.safe_dump(document))):
        texts = [repr(reading), str(reading)]
        if reading.content:
            texts.append(json.dumps(to_document(reading.content.configuration)))
            texts.extend(map(str, reading.content.secrets))
        for form in (secret, service_account(secret)):
            assert all(form not in text for text in texts)


@pytest.mark.parametrize("place", MISPLACED)
@given(secret=SECRETS)
def test_secrets_of_providers_are_in_no_text(place, secret):
    assert_hidden({"plugins": {"providers": [MISPLACED[place](secret)], "plugins": []}}, secret)


@pytest.mark.parametrize("place", MISPLACED_IN_ENTRIES)
@given(secret=SECRETS)
def test_secrets_of_plugins_are_in_no_text(place, secret):
    entry = {"provider": "web", "output": "a", "path": "a.zip", **MISPLACED_IN_ENTRIES[place](secret)}

    assert_hidden({"plugins": {"providers": [URL], "plugins": [entry]}}, secret)


@given(secret=SECRETS)
def test_a_valid_submission_has_the_secret_only_in_its_value(secret):
    document = {"plugins": {"providers": [MISPLACED["service account"](secret)], "plugins": []}}

    submission = read_configuration_value(document).content
    assert json.loads(submission.secrets[0].value)["private_key"] == secret
    assert secret not in repr(submission)


@pytest.mark.parametrize(
    "text",
    [
        "plugins: {providers: [{service_account: %s}",
        "plugins: {providers: [{service_account: *%s}]}",
        "{%s: 1, %s: 2}",
        "plugins: %s: x",
        "plugins: !%s x",
        "plugins: &%s x",
        'plugins: "\\%s"',
        "%s",
    ],
)
def test_broken_yaml_hides_secrets(text):
    secret = "s3cr3t-hunter2hunter2"

    reading = read_configuration(text.replace("%s", secret))
    assert reading.errors
    assert secret not in repr(reading)


def test_numbers_that_are_too_large_are_not_quoted():
    (error,) = read_configuration("a: " + "7" * 4000).errors

    assert "777" not in repr(error)
    assert error.line == 1


def test_a_failure_of_a_caller_shows_no_secret():
    document = {"plugins": {"providers": [MISPLACED["service account"]("s3cr3t")], "plugins": []}}
    submission = read_configuration_value(document).content

    with pytest.raises(AttributeError) as failure:
        _ = submission.secrets[0].nothing
    assert "s3cr3t" not in "".join(traceback.format_exception(failure.value))
