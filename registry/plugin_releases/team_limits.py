"""What a team's configuration must not use: the identity and the files of the server."""

from __future__ import annotations

from collections.abc import Iterator

from registry.plugins.documents.content import Configuration
from registry.plugins.documents.diagnostics import Code, Diagnostic, Severity
from registry.plugins.documents.provider_types import PROVIDER_TYPES


def platform_only(configuration: Configuration) -> Iterator[Diagnostic]:
    """Yield an error for each provider that only the platform may have."""
    for index, provider in enumerate(configuration.providers):
        path = f"/plugins/providers/{index}"
        if PROVIDER_TYPES[provider.type].reads_server_files:
            yield _refusal(
                f"{path}/type",
                f"Providers of type {provider.type} read files of the server, which a team must not.",
                "Use a url provider.",
            )
        elif provider.type != "url" and "endpoint" in provider.settings:
            # Clients of clouds resolve names themselves: a checked address would not be the one they use.
            yield _refusal(
                f"{path}/endpoint",
                "A team's bucket is at the cloud's own address.",
                "Remove endpoint, or use a url provider.",
            )
        elif provider.auth.uses_platform_identity:
            yield _refusal(
                f"{path}/auth",
                "The credential is the server's own, which a team must not use.",
                "Store a credential with PUT /api/v1/plugin-secrets/{name}, and refer to it with secretRef.",
            )


def _refusal(path: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(Code.INVALID_VALUE, Severity.ERROR, path, message, hint)
