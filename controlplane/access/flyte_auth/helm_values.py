"""Bring Helm's short form and misplaced members of upstream's `auth:` section to its canonical form. Pure."""

from __future__ import annotations

from controlplane.access.flyte_auth import yaml_nodes
from controlplane.access.flyte_auth.sections import Findings
from controlplane.access.flyte_auth.yaml_nodes import Node

_OPEN_ID = ("userAuth", "openId")
# Values of flyte-binary, and what its template makes of them.
_VALUES = (
    (("oidc",), _OPEN_ID),
    (("flyteClient",), ("appAuth", "thirdPartyConfig", "flyteClient")),
)
# Upstream's guide prints some blocks with the wrong indentation.
_MISPLACED = (
    *(((name,), ("appAuth", name)) for name in ("selfAuthServer", "externalAuthServer", "thirdPartyConfig")),
    *(
        (("userAuth", name), (*_OPEN_ID, name))
        for name in ("baseUrl", "issuerUrl", "clientId", "clientSecretName", "scopes")
    ),
)


def canonical(auth: Node, findings: Findings) -> Node:
    """Return the section with every member where upstream's server reads it."""
    if not isinstance(auth.value, dict):
        return auth
    for source, target in _MISPLACED:
        if (member := auth.member(*source)) is not None:
            findings.warn(member.line, f"`auth.{'.'.join(source)}` is read as `auth.{'.'.join(target)}`.")
            auth = yaml_nodes.moved(auth, source, target)
    for source, target in _VALUES:
        auth = yaml_nodes.moved(auth, source, target)
    return auth
