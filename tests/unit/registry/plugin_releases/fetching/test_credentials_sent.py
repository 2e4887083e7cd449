"""What clients of providers get of a credential."""

from __future__ import annotations

import json

import pytest

from controlplane.errors import RemoteFailed
from registry.plugin_releases.fetching.buckets import fetch, service_account_of
from registry.plugin_releases.fetching.fetcher import Repository
from registry.plugin_releases.fetching.url import credentials
from registry.plugin_releases.team_limits import platform_only
from registry.plugins.documents.content import Auth, Configuration, Provider


def repository(auth: Auth, secret: str) -> Repository:
    return Repository(Provider("web", "url", {"url": "https://plugins.example"}, auth), False, secret)


@pytest.mark.parametrize("secret", ["s3cr3t\n", "s3cr3t\r\nX-Other: 1", "s3cr3té"])
@pytest.mark.parametrize("auth", [Auth("bearer", "token"), Auth("header", "token", header="X-Token")])
def test_a_credential_that_no_header_can_have_is_refused_without_naming_it(auth, secret):
    with pytest.raises(RemoteFailed) as raised:
        credentials(repository(auth, secret))
    assert "s3cr3t" not in str(raised.value)


def test_a_password_may_have_any_character():
    auth = Auth("basic", "password", username="ann")
    assert credentials(repository(auth, "pässword\n"))["Authorization"].startswith("Basic ")


def test_a_service_account_names_no_address():
    key = {
        "type": "service_account",
        "client_email": "a@b.example",
        "private_key": "PEM",
        "token_uri": "http://169.254.169.254/",
        "universe_domain": "evil.example",
        "credential_source": {"file": "/etc/passwd"},
    }
    assert service_account_of(key) == {
        "type": "service_account",
        "client_email": "a@b.example",
        "private_key": "PEM",
        "token_uri": "https://oauth2.googleapis.com/token",
    }


@pytest.mark.parametrize("secret", ["no json", "[1]", json.dumps({"type": "external_account"})])
def test_other_credentials_of_buckets_are_refused_without_quoting_them(tmp_path, secret):
    provider = Provider("web", "gcs", {"bucket": "plugins"}, Auth("gcp", "key"))
    with pytest.raises(RemoteFailed) as raised:
        fetch(Repository(provider, True, secret), "x", tmp_path / "x", max_bytes=1, count=lambda _: None)
    assert "credential" in raised.value.detail
    assert secret not in raised.value.detail


@pytest.mark.parametrize("type_name", ["s3", "gcs"])
def test_a_teams_bucket_has_no_address_of_its_own(tmp_path, type_name):
    provider = Provider("web", type_name, {"bucket": "plugins", "endpoint": "http://127.0.0.1:1"})

    (finding,) = platform_only(Configuration((provider,)))
    assert finding.path == "/plugins/providers/0/endpoint"
    with pytest.raises(RemoteFailed, match="Remove endpoint"):
        fetch(Repository(provider, False), "x", tmp_path / "x", max_bytes=1, count=lambda _: None)
