"""API schemas of plugin configurations, of their files on the server, and of the secrets of providers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import ReasonedQuery
from controlplane.api.fields import Query, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from registry.plugin_releases.folder_source import STATES
from registry.plugin_releases.folder_state import SourceState
from registry.plugin_releases.models import PluginConfig, PluginSecret, PluginSource
from registry.plugin_releases.plugin_sets import name_of
from registry.plugins.documents.reading import MAX_BYTES

SOURCE_STATES = [(state, state) for state in STATES]
_MOST_SECRET = 64 * 1024
_TEAM_HELP = "Whose plugins. If omitted: the platform's, or those of the only team that you reach."


class TeamQuery(Query):
    team = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_TEAM_HELP)


class TeamChangeQuery(ReasonedQuery):
    team = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_TEAM_HELP)


class TeamPageQuery(PageQuery):
    team = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_TEAM_HELP)


class AllTeamsPageQuery(PageQuery):
    team = Text(
        required=False,
        allow_blank=True,
        max_length=63,
        help_text="Of one team. If omitted: all that you may read.",
    )


class PluginListQuery(AllTeamsPageQuery):
    q = SearchField("name", "provider", "problem")
    sort = SortField(SortKeys.of("name", "provider"), default="name")


class PluginReleaseListQuery(AllTeamsPageQuery):
    q = SearchField("message", "created_by", "waiting_for")
    sort = SortField(SortKeys.of("state", "number", created_at="id"), default="-created_at")


class PluginSecretListQuery(TeamPageQuery):
    q = SearchField("name", "changed_by")
    sort = SortField(SortKeys.of("name", "changed_at"), default="name")


class PluginConfigWrite(StrictSerializer):
    """Either `text` or `document`."""

    text = serializers.CharField(
        required=False,
        max_length=MAX_BYTES,
        trim_whitespace=False,
        help_text="The configuration, as YAML or JSON. Errors have its lines and columns.",
    )
    document = serializers.DictField(required=False, help_text="The configuration as an object.")
    message = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Reason for the change, instead of `change_message`.",
    )

    def validate(self, body: dict[str, Any]) -> dict[str, Any]:
        if ("text" in body) == ("document" in body):
            raise serializers.ValidationError("Give either `text` or `document`.", code="invalid")
        return body


class PluginConfigRead(serializers.Serializer[Any]):
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    version = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of the normal form.")
    origin = serializers.ChoiceField(
        PluginSource.choices, help_text="folder: of PLUGIN_CONFIG_PATH; the API refuses writes."
    )
    document = serializers.DictField(help_text="The normal form, without secrets.")
    message = serializers.CharField(help_text="Why it was changed, or empty.")
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class PluginConfigPage(serializers.Serializer[Any]):
    items = PluginConfigRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PluginSecretWrite(StrictSerializer):
    value = serializers.CharField(
        max_length=_MOST_SECRET,
        trim_whitespace=False,
        write_only=True,
        help_text="The credential. It is sealed and never shown. For type aws: JSON with access_key_id and"
        " secret_access_key.",
    )


class PluginSecretRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    version = serializers.IntegerField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class PluginSecretPage(serializers.Serializer[Any]):
    items = PluginSecretRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PluginSourceProblem(serializers.Serializer[Any]):
    file = serializers.CharField(help_text="Below PLUGIN_CONFIG_PATH, or empty for all of it.")
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    code = serializers.CharField()
    path = serializers.CharField(help_text="JSON Pointer; empty for the whole file.")
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do, or empty.")
    line = serializers.IntegerField(help_text="From 1; 0 if unknown.")
    column = serializers.IntegerField(help_text="From 1; 0 if unknown.")


class PluginSourceRead(serializers.Serializer[Any]):
    origin = serializers.ChoiceField(PluginSource.choices)
    state = serializers.ChoiceField(
        SOURCE_STATES,
        help_text="off: no files are read. failing: the last good configuration stays in force.",
    )
    path = serializers.CharField(help_text="Of the files on the server. Empty for teams.")
    reader = serializers.CharField(help_text="Node whose installer reads them. Empty for teams.")
    read_at = serializers.DateTimeField(allow_null=True, help_text="When the files were last read.")
    loaded_at = serializers.DateTimeField(
        allow_null=True, help_text="When changed files were last read without an error."
    )
    problems = PluginSourceProblem(many=True)


def show_config(config: PluginConfig) -> dict[str, Any]:
    return {
        "team": name_of(config.plugin_set) or None,
        "version": config.version,
        "digest": config.digest,
        "origin": config.plugin_set.source,
        "document": config.document,
        "message": config.message,
        "changed_at": config.changed_at,
        "changed_by": config.changed_by,
    }


def show_secret(secret: PluginSecret) -> dict[str, Any]:
    return {
        "name": secret.name,
        "team": name_of(secret.plugin_set) or None,
        "version": secret.version,
        "changed_at": secret.changed_at,
        "changed_by": secret.changed_by,
    }


def show_source(source: SourceState) -> dict[str, Any]:
    return {
        "origin": source.origin,
        "state": source.state,
        "path": source.path,
        "reader": source.reader,
        "read_at": source.read_at,
        "loaded_at": source.loaded_at,
        "problems": [{**problem, "team": problem["team"] or None} for problem in source.problems],
    }
