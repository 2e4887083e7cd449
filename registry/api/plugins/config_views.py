"""HTTP endpoints of a plugin configuration, its versions, and the secrets of its providers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.team_models import Team
from controlplane.api.endpoints import OF_LISTS, Endpoint, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.api.plugins import config_schemas as schemas
from registry.api.plugins import release_examples as examples
from registry.plugin_releases.config_changes import delete_secret, latest_config, write_config, write_secret
from registry.plugin_releases.folder_state import source_state
from registry.plugin_releases.models import PluginConfig, PluginSecret
from registry.plugin_releases.plugin_sets import find_set, find_team, lock_set
from registry.plugins.documents.configuration import Submission, read_configuration, read_configuration_value
from registry.plugins.documents.fields import is_name
from registry.plugins.documents.reading import Reading

_TAGS = ["plugins"]


def _latest(request: Request, slug: str) -> PluginConfig:
    """Raises UnknownPluginConfig."""
    plugin_set = find_set(caller_of(request), slug)
    config = latest_config(plugin_set) if plugin_set else None
    if config is None:
        raise errors.UnknownPluginConfig(
            "No plugins are configured. Write it with PUT /api/v1/plugin-config."
        )
    return config


def _read(body: dict[str, Any]) -> Reading[Submission]:
    if "text" in body:
        return read_configuration(body["text"])
    return read_configuration_value(body["document"])


class PluginConfigItem(Endpoint):
    actions = {"GET": Action.PLUGIN_READ, "PUT": Action.PLUGIN_WRITE}
    problems = {
        "GET": (errors.UnknownTeam, errors.UnknownPluginConfig),
        "PUT": (errors.UnknownTeam, errors.SourceIsReadOnly, errors.SecretsUnavailable),
    }
    has_versions = True
    takes_bundles = True

    @extend_schema(
        operation_id="plugin_config_get",
        summary="Get a plugin configuration",
        description="The newest version, in its normal form. Returns an ETag; send it as `If-Match` to change"
        " the configuration.",
        tags=_TAGS,
        parameters=[schemas.TeamQuery],
        responses=schemas.PluginConfigRead,
        examples=[examples.CONFIG],
    )
    def get(self, request: Request) -> Response:
        query = schemas.TeamQuery.parse(request)
        config = _latest(request, query["team"])
        return respond(request, schemas.show_config(config), etag=version_etag(config.version))

    @extend_schema(
        operation_id="plugin_config_put",
        summary="Write a plugin configuration",
        description=(
            "Stores a new version. Nothing is installed before it is released with `POST"
            " /api/v1/plugin-releases`. Service accounts in the text are sealed, and the document then refers"
            " to them."
        ),
        tags=_TAGS,
        parameters=[schemas.TeamChangeQuery],
        request=schemas.PluginConfigWrite,
        responses=schemas.PluginConfigRead,
        examples=[examples.CONFIG_WRITE, examples.CONFIG],
    )
    @mutation
    def put(self, request: Request) -> Response:
        query = schemas.TeamChangeQuery.parse(request)
        body = parse_body(schemas.PluginConfigWrite, request)
        written = write_config(
            find_team(caller_of(request), query["team"], Action.PLUGIN_WRITE),
            _read(body),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"] or body["message"]),
        )
        etag = version_etag(written.config.version)
        return Response(schemas.show_config(written.config), headers={"ETag": etag})


class PluginConfigVersions(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    staleness = OF_LISTS
    problems = {"GET": (errors.UnknownTeam,)}

    @extend_schema(
        operation_id="plugin_config_versions",
        summary="List the versions of a plugin configuration",
        description="Who changed it, when and why, newest first.",
        tags=_TAGS,
        parameters=[schemas.TeamPageQuery],
        responses=schemas.PluginConfigPage,
        examples=[examples.CONFIGS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.TeamPageQuery.parse(request)
        plugin_set = find_set(caller_of(request), query["team"])
        rows = PluginConfig.objects.filter(plugin_set=plugin_set).select_related("plugin_set__team")
        page = paginate(request, rows, order=("-version",), query=query)
        return page_response(request, page, schemas.show_config)


class PluginConfigSource(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam,)}

    @extend_schema(
        operation_id="plugin_config_source",
        summary="Get the state of the configuration files",
        description="Whether the configuration comes from files on the server, when they were read, and what"
        " is wrong with them. Files with errors change nothing.",
        tags=_TAGS,
        parameters=[schemas.TeamQuery],
        responses=schemas.PluginSourceRead,
        examples=[examples.SOURCE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.TeamQuery.parse(request)
        team = find_team(caller_of(request), query["team"], Action.PLUGIN_READ)
        return Response(schemas.show_source(source_state(team)))


class PluginSecretCollection(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam,)}

    @extend_schema(
        operation_id="plugin_secrets_list",
        summary="List secrets of providers",
        description="Their names, never their values.",
        tags=_TAGS,
        parameters=[schemas.PluginSecretListQuery],
        responses=schemas.PluginSecretPage,
        examples=[examples.SECRETS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.PluginSecretListQuery.parse(request)
        plugin_set = find_set(caller_of(request), query["team"])
        rows = PluginSecret.objects.filter(plugin_set=plugin_set).select_related("plugin_set__team")
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_secret)


class PluginSecretItem(Endpoint):
    actions = {"PUT": Action.PLUGIN_WRITE, "DELETE": Action.PLUGIN_WRITE}
    problems = {
        "PUT": (errors.UnknownTeam, errors.SecretsUnavailable),
        "DELETE": (errors.UnknownTeam, errors.UnknownPluginSecret),
    }

    @extend_schema(
        operation_id="plugin_secrets_put",
        summary="Store a secret of a provider",
        description="The configuration refers to it as `auth: {type: bearer, secretRef: <name>}`. An earlier"
        " value is replaced.",
        tags=_TAGS,
        parameters=[schemas.TeamChangeQuery],
        request=schemas.PluginSecretWrite,
        responses=schemas.PluginSecretRead,
        examples=[examples.SECRET_WRITE, examples.SECRET],
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        query = schemas.TeamChangeQuery.parse(request)
        value = parse_body(schemas.PluginSecretWrite, request)["value"]
        team = find_team(caller_of(request), query["team"], Action.PLUGIN_WRITE)
        _check_name(name)
        actor = actor_of(request, query["change_message"])
        return Response(schemas.show_secret(write_secret(lock_set(team), name, value, actor=actor)))

    @extend_schema(
        operation_id="plugin_secrets_delete",
        summary="Delete a secret of a provider",
        description="Providers that refer to it fail from then on. What is installed stays.",
        tags=_TAGS,
        parameters=[schemas.TeamChangeQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        query = schemas.TeamChangeQuery.parse(request)
        team = find_team(caller_of(request), query["team"], Action.PLUGIN_WRITE)
        delete_secret(_secret(team, name), actor=actor_of(request, query["change_message"]))
        return Response(status=204)


def _secret(team: Team | None, name: str) -> PluginSecret:
    rows = PluginSecret.objects.select_related("plugin_set__team").filter(plugin_set__team=team)
    secret = rows.filter(name=name).first() if is_name(name) else None
    if secret is None:
        raise errors.UnknownPluginSecret(f"There is no secret {name[:63]!r}.")
    return secret


def _check_name(name: str) -> None:
    if not is_name(name):
        message = "Use 1 to 63 lower-case letters, digits, '-', '_' and inner dots."
        raise errors.InvalidRequest(message, errors=[errors.FieldError("/name", "invalid_value", message)])
