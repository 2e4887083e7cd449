"""Whom a join token lets in. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.wildcards import matches
from registry.joining.registration import Registration


@dataclass(frozen=True, slots=True)
class Invitation:
    """name_pattern: "*" stands for any characters. environment, service_types: empty means any."""

    name_pattern: str
    environment: str = ""
    service_types: frozenset[str] = frozenset()

    def check(self, registration: Registration) -> None:
        """Raise InvalidRequest, saying all that the token does not admit."""
        if wrong := list(self._refusals(registration)):
            message = f"Your join token does not let this agent in: {wrong[0].message}"
            raise InvalidRequest(message, errors=wrong)

    def admits(self, registration: Registration) -> bool:
        return not any(self._refusals(registration))

    def _refusals(self, registration: Registration) -> Iterator[FieldError]:
        if not matches(self.name_pattern, registration.name):
            message = f"Names must match {self.name_pattern!r}."
            yield FieldError("/name", "not_invited", message)
        if self.environment not in ("", registration.environment):
            message = f"The environment must be {self.environment!r}."
            yield FieldError("/environment", "not_invited", message)
        others = set(registration.service_types) - self.service_types
        if self.service_types and others:
            message = f"These service types are not for it: {', '.join(sorted(others))}."
            yield FieldError("/service_types", "not_invited", message)
