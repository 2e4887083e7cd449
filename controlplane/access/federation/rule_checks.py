"""Checks of new rules: a rule must name the workloads that it trusts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controlplane.access.federation.globs import has_wildcard, literal_start
from controlplane.access.federation.rules import MAX_SECONDS, MIN_SECONDS, Rule, placeholders
from controlplane.errors import FieldError
from controlplane.identity.ceilings import is_ceiling

GITHUB = "https://token.actions.githubusercontent.com"
# Claims that identify a workload or its owner within their issuer.
_IDENTIFYING = (
    *("sub", "client_id", "azp", "appid", "oid", "kubernetes.io/namespace"),
    *("repository", "repository_id", "repository_owner_id"),
    *("project_id", "project_path", "namespace_id", "namespace_path"),
    *("organization_id", "organization_slug", "pipeline_id"),
)
# What all subjects of an issuer begin with, so that it narrows nothing.
_SHARED_STARTS = (
    *("system:serviceaccount:", "system:", "repo:", "project_path:", "organization:", "spiffe://"),
    *("refs/heads/", "refs/tags/", "refs/pull/", "refs/"),
)
_GITHUB_REPOSITORY = ("repository_id", "repository")
_GITHUB_PLACE = ("ref", "environment", "job_workflow_ref")
_MAX_CLAIMS = 20
_SHORTEST_PREFIX = 2


def rule_errors(rule: Rule, issuer: str, pointer: str) -> list[FieldError]:
    """Return what is wrong with a rule; nothing for a valid one."""
    return [
        *match_errors(rule.match, issuer, f"{pointer}/match"),
        *_principal_errors(rule, pointer),
        *_result_errors(rule, pointer),
    ]


def match_errors(match: Mapping[str, str], issuer: str, pointer: str) -> list[FieldError]:
    """Return what is wrong with the patterns of a rule."""
    if len(match) > _MAX_CLAIMS:
        return [FieldError(pointer, "too_many", f"A rule can match at most {_MAX_CLAIMS} claims.")]
    if is_github(issuer):
        return list(_github_errors(match, pointer))
    if not any(narrows(match[name]) for name in _IDENTIFYING if name in match):
        message = (
            "The rule would trust every workload of the issuer. Match `sub`, or another claim that names a"
            " workload, with a pattern that begins with the workload's own name."
        )
        return [FieldError(pointer, "too_wide", message)]
    return []


def is_github(issuer: str) -> bool:
    """True for GitHub, and for a GitHub Enterprise Server or an enterprise's own issuer."""
    return issuer.startswith(GITHUB) or issuer.endswith("/_services/token")


def narrows(pattern: str) -> bool:
    """True unless the pattern matches whatever the issuer might put there."""
    if pattern and not has_wildcard(pattern):
        return True
    start = literal_start(pattern)
    return any(character.isalnum() for character in _without_shared_start(start))


def _without_shared_start(text: str) -> str:
    for start in _SHARED_STARTS:
        if text.startswith(start):
            return text[len(start) :]
        if start.startswith(text):
            return ""
    return text


def _github_errors(match: Mapping[str, str], pointer: str) -> Iterator[FieldError]:
    if not any(name in match and not has_wildcard(match[name]) for name in _GITHUB_REPOSITORY):
        message = "A rule for GitHub must name one repository: match `repository_id` or `repository` exactly."
        yield FieldError(pointer, "too_wide", message)
    if not any(name in match and narrows(match[name]) for name in _GITHUB_PLACE):
        message = (
            "A rule for GitHub must match `ref`, `environment` or `job_workflow_ref`. Otherwise any branch"
            " and any pull request of the repository could use it."
        )
        yield FieldError(pointer, "too_wide", message)


def _principal_errors(rule: Rule, pointer: str) -> Iterator[FieldError]:
    if bool(rule.principal) == bool(rule.principal_template):
        yield FieldError(pointer, "required", "Set either `principal` or `principal_template`.")
        return
    if rule.principal:
        return
    template = rule.principal_template
    prefix = template.partition("{")[0]
    if len(placeholders(template)) != 1 or template.count("{") != 1 or template.count("}") != 1:
        message = "A template has exactly one placeholder, such as `gh-{repository_id}`."
        yield FieldError(f"{pointer}/principal_template", "malformed", message)
    elif len(prefix) < _SHORTEST_PREFIX:
        message = (
            "A template begins with at least two characters before its placeholder. Otherwise the issuer"
            " could choose any principal."
        )
        yield FieldError(f"{pointer}/principal_template", "too_wide", message)


def _result_errors(rule: Rule, pointer: str) -> Iterator[FieldError]:
    unknown = [scope for scope in rule.scopes if not is_ceiling(scope)]
    if unknown or not rule.scopes:
        message = (
            "Use the scopes `all`, `read`, `overrides`, `agents`, `publish:<team>` or `run-input:<project>`."
        )
        yield FieldError(f"{pointer}/scopes", "unknown_scope", message)
    if not MIN_SECONDS <= rule.ttl <= MAX_SECONDS:
        message = f"The lifetime must be between {MIN_SECONDS} and {MAX_SECONDS} seconds."
        yield FieldError(f"{pointer}/ttl", "out_of_range", message)
