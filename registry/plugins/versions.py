"""Versions and ranges of plugins and servers, compared as PEP 440 does. Pure.

A plugin's version that PEP 440 cannot parse has no order, so that only `==` compares it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)?\s*([A-Za-z0-9][A-Za-z0-9._+!*-]*)")
_EXAMPLE = "Use a version such as 1.4.2, or a range such as >=1.2,<2."


class InvalidRange(ValueError):
    """The text is neither a version nor a range."""


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A range of versions. literal: the only version that matches, if PEP 440 cannot parse it."""

    text: str
    specifiers: SpecifierSet | None = None
    literal: str = ""

    def contains(self, version: str) -> bool:
        """True if the version is in the range. Pre-releases count as the versions that they are."""
        if self.specifiers is None:
            return version == self.literal
        parsed = parse_version(version)
        return parsed is not None and self.specifiers.contains(parsed, prereleases=True)


def parse_version(text: str) -> Version | None:
    """Return the version, or None if PEP 440 cannot parse it."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def parse_range(text: str) -> VersionRange:
    """Return the range of `>=1.2,<2`, or of one version: `1.4.2` means `==1.4.2`. Raises InvalidRange."""
    clauses = [_parse_clause(clause) for clause in text.split(",")]
    if len(clauses) == 1 and clauses[0][0] == "==" and _is_literal(clauses[0][1]):
        return VersionRange(f"=={clauses[0][1]}", literal=clauses[0][1])
    for operator, version in clauses:
        if _is_literal(version):
            raise InvalidRange(
                f"A version that PEP 440 cannot parse allows only == and no other condition, not {operator}."
            )
    normalised = ",".join(f"{operator}{version}" for operator, version in clauses)
    try:
        return VersionRange(normalised, SpecifierSet(normalised))
    except InvalidSpecifier as error:
        raise InvalidRange(f"Invalid range of versions. {_EXAMPLE}") from error


def find_mismatch(wanted: VersionRange, version: str) -> str:
    """Return why a plugin's version is not in the range, or an empty string."""
    if wanted.contains(version):
        return ""
    if wanted.specifiers is not None and parse_version(version) is None:
        return (
            f"The plugin has version {version[:40]!r}, which is not a PEP 440 version, "
            f"so only =={version[:40]} matches it, not {wanted.text}."
        )
    return f"The plugin has version {version[:40]!r}, which is not in the range {wanted.text}."


def find_server_mismatch(requires_server: str, server_version: str) -> str:
    """Return why a server cannot run a plugin with this `requires_server`, or an empty string."""
    if not requires_server or parse_range(requires_server).contains(server_version):
        return ""
    return f"The plugin requires a server {requires_server}, and this one has version {server_version}."


def _parse_clause(clause: str) -> tuple[str, str]:
    match = _CLAUSE.fullmatch(clause.strip())
    if match is None:
        raise InvalidRange(f"Invalid range of versions. {_EXAMPLE}")
    operator, version = match[1] or "==", match[2]
    if operator == "===":
        raise InvalidRange(f"The operator === is not supported. {_EXAMPLE}")
    return operator, version


def _is_literal(version: str) -> bool:
    return parse_version(version.removesuffix(".*")) is None
