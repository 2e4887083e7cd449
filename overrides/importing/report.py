"""What an import found: statements to apply, and what it had to leave out. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from overrides.resolution.addresses import Statement


@dataclass(frozen=True, slots=True)
class ImportIssue:
    """Something that was not imported. place: a file with line, or the other side's row."""

    place: str
    reason: str
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class Findings:
    """projects: id to name. skipped is harmless; problems mean that something was meant and is not there."""

    statements: list[Statement] = field(default_factory=list)
    projects: dict[str, str] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    skipped: list[ImportIssue] = field(default_factory=list)
    problems: list[ImportIssue] = field(default_factory=list)

    def name_scopes(self) -> None:
        """Add the projects and domains that statements name, where nobody has told more of them."""
        for statement in self.statements:
            scope = statement.address.scope
            if scope.project:
                self.projects.setdefault(scope.project, scope.project)
            if scope.domain:
                self.domains.setdefault(scope.domain, scope.domain)
