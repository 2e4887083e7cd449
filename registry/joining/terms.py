"""The terms of a join token: which agents can join with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.wildcards import matches
from registry.joining.registration import Registration


@dataclass(frozen=True, slots=True)
class JoinTerms:
    """Which agents can join. name_pattern: "*" matches any characters. The others: empty means any."""

    name_pattern: str
    environment: str = ""
    service_types: frozenset[str] = frozenset()

    def check(self, registration: Registration) -> None:
        """Raise InvalidRequest with every violation of the terms."""
        if errors := list(self._refusals(registration)):
            message = f"Your join token does not allow this registration: {errors[0].message}"
            raise InvalidRequest(message, errors=errors)

    def admits(self, registration: Registration) -> bool:
        return not any(self._refusals(registration))

    def _refusals(self, registration: Registration) -> Iterator[FieldError]:
        if not matches(self.name_pattern, registration.name):
            message = f"Names must match {self.name_pattern!r}."
            yield FieldError("/name", "not_invited", message)
        if self.environment not in ("", registration.environment):
            message = f"The environment must be {self.environment!r}."
            yield FieldError("/environment", "not_invited", message)
        excluded_types = set(registration.service_types) - self.service_types
        if self.service_types and excluded_types:
            message = (
                f"The join token does not allow these service types: {', '.join(sorted(excluded_types))}."
            )
            yield FieldError("/service_types", "not_invited", message)
