"""Routes whose matches are kept: Django would try one pattern after the other for each request."""

from __future__ import annotations

from typing import Any

from django.urls import ResolverMatch, URLResolver
from django.urls.resolvers import RoutePattern

_MAX_PATHS = 4096
_MAX_LENGTH = 512


class CachedRoutes(URLResolver):
    """Routes below the root. Matches depend on the path alone."""

    def __init__(self, routes: list[Any]) -> None:
        super().__init__(RoutePattern("", is_endpoint=False), routes)
        self._matches: dict[str, ResolverMatch] = {}

    def resolve(self, path: str) -> ResolverMatch:
        """Return the match of a path. Raises Resolver404, which is not kept."""
        match = self._matches.get(path)
        if match is None:
            match = super().resolve(path)
            if len(self._matches) >= _MAX_PATHS:
                self._matches.clear()
            if len(path) <= _MAX_LENGTH:
                self._matches[path] = match
        return match
