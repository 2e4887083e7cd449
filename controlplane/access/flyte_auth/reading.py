"""Read upstream's `auth:` configuration in the forms of its Helm charts and its own files. Pure.

Read are flyteadmin's own section, the values of flyte-binary (`configuration: auth:`, with `inline: auth:`
over it) and of flyte-core (`configmap: adminServer: auth:`), whole or only the part that upstream's guide
prints.
"""

from __future__ import annotations

from dataclasses import replace

from controlplane.access.flyte_auth import helm_values, static_clients, yaml_nodes
from controlplane.access.flyte_auth.configuration import (
    AUTHORIZATION_HEADER,
    EXTERNAL,
    SELF,
    ExternalServer,
    FlyteAuth,
    FlyteClient,
    Lifetimes,
    OpenId,
    UserAuth,
)
from controlplane.access.flyte_auth.sections import Findings, InvalidConfiguration, Section
from controlplane.access.flyte_auth.static_clients import StaticClient
from controlplane.access.flyte_auth.yaml_nodes import Node
from controlplane.errors import MalformedBody

# In the order in which Helm merges them: the last wins.
_LOCATIONS: tuple[tuple[str, ...], ...] = (
    ("configuration", "auth"),
    ("configmap", "adminServer", "auth"),
    ("adminServer", "auth"),
    ("auth",),
    ("configuration", "inline", "auth"),
    ("inline", "auth"),
)
_SECURITY = ("server", "security")
_PROPELLER = "flytepropeller"
_PROPELLER_GRANTS = ("refresh_token", static_clients.CLIENT_CREDENTIALS)
_PROPELLER_SCOPES = ("all", "offline", "access_token")
_NO_PROXY = "requests to issuers are sent directly."


def read(text: str, file: str) -> FlyteAuth:
    """Return the configuration. file: its name, for messages.

    Raises InvalidConfiguration with all mistakes, each with file and line.
    """
    findings = Findings(file)
    try:
        documents = yaml_nodes.parse(text)
    except MalformedBody as error:
        raise InvalidConfiguration(f"{file}: {error.detail}") from error
    node: Node | None = None
    for path in _LOCATIONS:
        for document in documents:
            node = yaml_nodes.merge(node, document.member(*path))
    if node is None:
        raise InvalidConfiguration(f"{file}: there is no `auth:` section.")
    section = Section(helm_values.canonical(node, findings), "auth", findings)
    auth = _auth(section, _use_auth(documents, findings))
    _check(auth, section)
    findings.raise_mistakes()
    return replace(
        auth,
        internal_client_id=auth.internal_client_id or _core_client_id(documents, findings),
        warnings=findings.all_warnings(),
    )


def _use_auth(documents: list[Node], findings: Findings) -> bool | None:
    """Return `server.security.useAuth`; None if no document has it."""
    for document in documents:
        for path in _LOCATIONS:
            security = Section(document.member(*path[:-1], *_SECURITY), ".".join(_SECURITY), findings)
            if security.node("useAuth") is not None:
                return security.flag("useAuth", default=True)
    return None


def _core_client_id(documents: list[Node], findings: Findings) -> str:
    """Return the client of Flyte's own components in values of flyte-core."""
    nodes = (document.member("secrets", "adminOauthClientCredentials") for document in documents)
    sections = (Section(node, "secrets.adminOauthClientCredentials", findings) for node in nodes)
    return next(filter(None, (section.text("clientId") for section in sections)), "")


def _auth(section: Section, use_auth: bool | None) -> FlyteAuth:
    app = section.section("appAuth")
    own = app.section("selfAuthServer")
    is_external = app.choice("authServerType", ("Self", "External")) == "External"
    user = _user(section.section("userAuth"))
    auth = FlyteAuth(
        is_enabled=section.flag("enabled", default=False) if section.node("enabled") else use_auth,
        http_header=section.text("httpAuthorizationHeader", AUTHORIZATION_HEADER).lower(),
        grpc_header=section.text("grpcAuthorizationHeader", AUTHORIZATION_HEADER).lower(),
        authorized_uris=section.urls("authorizedUris"),
        server=EXTERNAL if is_external else SELF,
        issuer=own.url("issuer"),
        user=user,
        lifetimes=_lifetimes(own),
        external=_external(app.section("externalAuthServer"), user.open_id),
        client=_client(app.section("thirdPartyConfig")),
        static_clients=_static_clients(own, section, is_external=is_external),
        internal_client_id=section.section("internal").text("clientId"),
    )
    section.ignore("disableForHttp", "disableForGrpc", because="every request is authenticated here.")
    section.ignore("httpProxyURL", because=_NO_PROXY)
    section.ignore("enableAuthServer", "clientSecretsExternalSecretRef")
    for each in (section, app, own):
        each.warn_of_unknown_keys()
    return auth


def _user(section: Section) -> UserAuth:
    inner = section.section("openId")
    defaults = OpenId()
    open_id = OpenId(
        base_url=inner.url("baseUrl"),
        issuer_url=inner.url("issuerUrl"),
        client_id=inner.text("clientId"),
        client_secret=inner.secret("clientSecret"),
        client_secret_name=inner.text("clientSecretName", defaults.client_secret_name),
        scopes=inner.texts("scopes", defaults.scopes),
    )
    user = UserAuth(open_id, section.text("redirectUrl", "/console"), section.text("idpQueryParameter"))
    inner.ignore("clientSecretFile", because="set OIDC_CLIENT_SECRET_FILE.")
    inner.warn_of_unknown_keys()
    # Sessions are rows of the database here: their cookies need no keys and have fixed attributes.
    section.ignore("cookieHashKeySecretName", "cookieBlockKeySecretName", "cookieSetting")
    section.ignore("httpProxyURL", because=_NO_PROXY)
    section.warn_of_unknown_keys()
    return user


def _lifetimes(section: Section) -> Lifetimes:
    defaults = Lifetimes()
    # Tokens issued here are opaque; keys of other tokens are rotated by command.
    section.ignore(
        "claimSymmetricEncryptionKeySecretName",
        "tokenSigningRSAKeySecretName",
        "oldTokenSigningRSAKeySecretName",
    )
    return Lifetimes(
        section.seconds("accessTokenLifespan", defaults.access_token),
        section.seconds("refreshTokenLifespan", defaults.refresh_token),
        section.seconds("authorizationCodeLifespan", defaults.authorization_code),
    )


def _external(section: Section, open_id: OpenId) -> ExternalServer:
    defaults = ExternalServer()
    external = ExternalServer(
        section.url("baseUrl", open_id.base_url),
        section.texts("allowedAudience"),
        section.text("metadataUrl"),
        section.number("retryAttempts", defaults.retry_attempts),
        section.seconds("retryDelay", defaults.retry_delay),
    )
    section.ignore("httpProxyURL", because=_NO_PROXY)
    section.warn_of_unknown_keys()
    return external


def _client(section: Section) -> FlyteClient:
    inner, defaults = section.section("flyteClient"), FlyteClient()
    client = FlyteClient(
        inner.text("clientId", defaults.client_id),
        inner.url("redirectUri", defaults.redirect_uri),
        inner.texts("scopes", defaults.scopes),
        inner.text("audience"),
    )
    for each in (section, inner):
        each.warn_of_unknown_keys()
    return client


def _static_clients(own: Section, section: Section, *, is_external: bool) -> tuple[StaticClient, ...]:
    """Return the clients of the built-in server, with flyte-binary's `internal` one."""
    clients = static_clients.read(own.section("staticClients"))
    internal = section.section("internal")
    secret_hash = static_clients.bcrypt_hash(internal.secret("clientSecretHash"))
    node = internal.node("clientSecretHash")
    if node is not None and internal.secret("clientSecretHash") and secret_hash is None and not is_external:
        internal.findings.reject(node.line, "`auth.internal.clientSecretHash` must be a bcrypt hash ($2a$…).")
    client_id = internal.text("clientId", _PROPELLER)
    internal.ignore("clientSecret", "audience")
    internal.warn_of_unknown_keys()
    if is_external or secret_hash is None or any(client.client_id == client_id for client in clients):
        return clients
    propeller = StaticClient(
        client_id, False, (), _PROPELLER_GRANTS, _PROPELLER_SCOPES, secret_hash=secret_hash
    )
    return (*clients, propeller)


def _check(auth: FlyteAuth, section: Section) -> None:
    """Reject what cannot work, and warn of what upstream does and this server does not."""
    findings, line = section.findings, section.line
    if auth.server == EXTERNAL and not auth.external.base_url:
        findings.reject(line, "`auth.appAuth.externalAuthServer.baseUrl` is required with `External`.")
    if auth.user.open_id.base_url and not auth.user.open_id.client_id:
        findings.reject(line, "`auth.userAuth.openId.clientId` is required with `baseUrl`.")
    if auth.is_enabled is False:
        findings.warn(line, "Authentication is off in this file; here it is always on.")
