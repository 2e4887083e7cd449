"""The settings in the guides to identity providers are read without a mistake or a warning."""

from __future__ import annotations

import json
import re

import pytest

from controlplane.access.federation.rule_checks import rule_errors
from controlplane.access.federation.stored_rules import rule_from
from controlplane.access.flyte_auth.reading import read
from controlplane.access.flyte_auth.setting_values import setting_values
from controlplane.access.issuers.external_issuers import parse_issuers
from controlplane.access.login.oidc.provider_settings import parse_providers
from tests.support.paths import ROOT

GUIDES = ROOT / "docs" / "guides" / "identity"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
EXTERNAL = {"keycloak", "okta", "entra-id"}


def blocks(language: str, begin: str) -> list[tuple[str, str]]:
    return [
        (page.stem, text)
        for page in sorted(GUIDES.glob("*.md"))
        for kind, text in BLOCK.findall(page.read_text())
        if kind == language and text.startswith(begin)
    ]


def test_each_provider_has_its_blocks():
    providers = {"keycloak", "okta", "entra-id", "google"}

    assert {guide for guide, _ in blocks("yaml", "# auth.yaml")} == providers
    assert {guide for guide, _ in blocks("yaml", "# providers.yaml")} == providers
    assert {guide for guide, _ in blocks("json", "{")} == {"github-actions", "kubernetes"}


@pytest.mark.parametrize(("guide", "text"), blocks("yaml", "# auth.yaml"))
def test_flytes_configuration_in_a_guide(guide, text):
    auth = read(text, "auth.yaml")
    values = setting_values(auth)

    assert auth.warnings == ()
    assert values["PUBLIC_URL"] == "https://controlplane.example.com"
    assert values["AUTH_SERVER"] == ("external" if guide in EXTERNAL else "self")
    for issuer in parse_issuers(values.get("EXTERNAL_ISSUERS", "")).values():
        assert "flytepropeller" in issuer.clients.values()


@pytest.mark.parametrize(("guide", "text"), blocks("yaml", "# providers.yaml"))
def test_the_provider_of_a_guide(guide, text):
    (provider,) = parse_providers(text)

    assert provider.client_secret


@pytest.mark.parametrize(("guide", "text"), blocks("json", "{"))
def test_the_rules_of_a_guide_name_whom_they_trust(guide, text):
    document = json.loads(text)

    rules = [rule_from({"audience": "", "principal_template": "", **rule}) for rule in document["rules"]]

    assert [error for rule in rules for error in rule_errors(rule, document["issuer"], "")] == []
