"""Findings of an import: statements to apply, and entries that were not imported. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from overrides.resolution.addresses import Statement


@dataclass(frozen=True, slots=True)
class ImportIssue:
    """An entry that was not imported. place: a file, or a row of FlyteAdmin."""

    place: str
    reason: str
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class ImportFindings:
    """The findings of an import. projects: names by id. skipped is harmless; problems prevent the import."""

    statements: list[Statement] = field(default_factory=list)
    projects: dict[str, str] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    skipped: list[ImportIssue] = field(default_factory=list)
    problems: list[ImportIssue] = field(default_factory=list)

    def name_scopes(self) -> None:
        """Add the projects and domains that only statements name, with their ids as names."""
        for statement in self.statements:
            scope = statement.address.scope
            if scope.project:
                self.projects.setdefault(scope.project, scope.project)
            if scope.domain:
                self.domains.setdefault(scope.domain, scope.domain)
