"""cpctl about OAuth clients, issuers and identity providers, as a process against a running server."""

from __future__ import annotations

import pytest
import yaml

from cpctl.exits import Exit
from tests.support.api_client import Api, make_principal, token_for
from tests.support.cpctl_runner import Cpctl
from tests.support.login_samples import login_files, trusted_issuer


@pytest.fixture
def cpctl(live, tmp_path) -> Cpctl:
    for name, content in login_files().items():
        (tmp_path / name).write_text(content)
    return Cpctl(tmp_path, live.url, token_for("admin"))


def test_a_secret_is_printed_once_and_logs_in(cpctl):
    make_principal("editor", name="deployer")
    cpctl("clients", "create", "ci", "--principal", "deployer", "--yes")
    secret = cpctl("clients", "secrets", "create", "ci", "--yes").out.strip()
    (cpctl.folder / "ci.secret").write_text(secret)
    listed = cpctl("clients", "secrets", "list", "ci", "-o", "json").out
    login = ("login", cpctl.server, "--client-id", "ci", "--secret-file", "ci.secret", "--scope", "all")

    assert secret.startswith("cp_ocs_")
    assert secret not in listed
    assert cpctl(*login, CPCTL_SERVER="", CPCTL_TOKEN="").code == Exit.OK
    assert secret not in (cpctl.folder / "config" / "config.json").read_text()
    disabled = cpctl("clients", "update", "ci", "--no-active", "-o", "json", "--yes").out
    assert yaml.safe_load(disabled)["items"][0]["is_active"] is False
    assert cpctl(*login, CPCTL_SERVER="", CPCTL_TOKEN="").code == Exit.AUTH


def test_a_token_is_judged_by_the_rules_of_its_issuer(cpctl):
    cpctl("issuers", "set", "-f", "github-actions.yaml", "--yes")
    accepted = cpctl("issuers", "test", "workload.token")
    shown = cpctl("issuers", "show", trusted_issuer()["issuer"]).out
    (cpctl.folder / "edited.yaml").write_text(shown.replace("'74'", "'75'"))
    again = cpctl("issuers", "set", "-f", "edited.yaml", "--yes")
    refused = cpctl("issuers", "test", "workload.token")

    assert (accepted.code, again.code, refused.code) == (Exit.OK, Exit.OK, Exit.AUTH), again.err
    assert accepted.lines[1:] == ["  rule 0: matches"]
    assert refused.lines == ["refused: no rule matches", "  rule 0: does not match: repository_id"]


def test_claims_are_tried_at_an_identity_provider(cpctl):
    Api(cpctl.token).post("teams", {"slug": "ml"})
    cpctl("identity-providers", "set", "work", "-f", "work.yaml", "--yes")
    shown = cpctl("identity-providers", "show", "work").out
    tried = cpctl("identity-providers", "test", "work", "--claims", "claims.yaml")

    assert "client_secret" not in shown
    assert tried.lines == ["The person may log in.", "  rule 1 matches cp-ml-vision: team ml, role editor"]
