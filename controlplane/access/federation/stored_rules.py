"""Rules as trusted issuers store them and the API shows them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.access.federation.rules import DEFAULT_SCOPES, MAX_SECONDS, Rule


def rule_from(document: Mapping[str, Any]) -> Rule:
    """Return the rule that a document describes. Absent members have their defaults."""
    return Rule(
        match=dict(document["match"]),
        principal=document.get("principal", ""),
        principal_template=document.get("principal_template", ""),
        audience=document.get("audience", ""),
        scopes=tuple(document.get("scopes") or DEFAULT_SCOPES),
        ttl=document.get("ttl", MAX_SECONDS),
    )


def show_rule(rule: Rule) -> dict[str, Any]:
    """Return the document of a rule, in which empty members are absent."""
    document = {
        "match": dict(rule.match),
        "audience": rule.audience,
        "principal": rule.principal,
        "principal_template": rule.principal_template,
        "scopes": list(rule.scopes),
        "ttl": rule.ttl,
    }
    return {name: value for name, value in document.items() if value}
