"""The REST API: authentication, parsing, errors, OpenAPI."""

from typing import Any

from controlplane.settings import environment as env

__all__ = [
    "DATA_UPLOAD_MAX_MEMORY_SIZE",
    "MAX_BODY_BYTES",
    "MAX_BUNDLE_BYTES",
    "MAX_JSON_DEPTH",
    "REST_FRAMEWORK",
    "SPECTACULAR_SETTINGS",
]

MAX_BODY_BYTES = env.integer(
    "MAX_BODY_BYTES",
    default=1024 * 1024,
    minimum=1024,
    meaning="Maximum size of a request body in bytes; larger requests get 413.",
)
MAX_BUNDLE_BYTES = env.integer(
    "MAX_BUNDLE_BYTES",
    default=8 * 1024 * 1024,
    minimum=1024,
    meaning="Maximum size in bytes of requests with many documents, such as `POST /api/v1/overrides:apply`.",
)
# Deeper documents are attacks or mistakes; they are rejected before they are parsed.
MAX_JSON_DEPTH = 32
# Django's own limit is above ours, so that people see our clearer error.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * max(MAX_BODY_BYTES, MAX_BUNDLE_BYTES)

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "controlplane.access.authentication.TokenAuthentication",
        "controlplane.access.authentication.SessionAuthentication",
        "controlplane.access.authentication.AnonymousReadAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["controlplane.access.permissions.DeclaredAction"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.api.bodies.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["controlplane.api.bodies.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "controlplane.api.bodies.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "controlplane.api.schema.OperationSchema",
    "EXCEPTION_HANDLER": "controlplane.api.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Controlplane",
    "VERSION": "1",
    "DESCRIPTION": "Hierarchical overrides (which value applies at a scope, and why) and the agent registry"
    " (which agents exist, what they can do, and whether they are alive). For tutorials, see"
    " docs/guides in the repository.",
    "CONTACT": {"name": "Controlplane maintainers"},
    # For this document and the clients generated from it, so that users may publish theirs.
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    # Relative first: the viewers that this server shows try operations against itself.
    "SERVERS": [
        {"url": "/", "description": "The server that serves this document"},
        {"url": "http://127.0.0.1:8000", "description": "`make up` on this machine"},
    ],
    "TAGS": [
        {"name": "overrides", "description": "Settings at a scope, and the effective values that result."},
        {"name": "overrides documents", "description": "Apply, export and import many overrides."},
        {"name": "history of overrides", "description": "Versions, revisions, comparisons and rollbacks."},
        {"name": "source of overrides", "description": "Overrides read from files."},
        {"name": "guard rails", "description": "Locks and limits that overrides must respect."},
        {"name": "resource types", "description": "Kinds of settings, built-in and defined by operators."},
        {"name": "projects and domains", "description": "Scopes for which overrides are set."},
        {"name": "agents", "description": "Registration, heartbeats, lifecycle and service providers."},
        {"name": "resources", "description": "Requested resources, and the agents that provide them."},
        {"name": "joining", "description": "Join tokens that let agents register themselves."},
        {"name": "agent configurations", "description": "Documents that teams publish for data planes."},
        {"name": "data planes", "description": "Consumers of agent configurations, and their bundles."},
        {"name": "jobs", "description": "Jobs of schedulers, and what a run of a job gets."},
        {
            "name": "plugins",
            "description": "Plugins of job schedulers: their configuration and specifications.",
        },
        {"name": "events", "description": "Events, as a list, a long poll or a stream."},
        {"name": "sinks", "description": "Receivers of events, and the deliveries to them."},
        {
            "name": "notifications",
            "description": "Alerts, the rules that make them, and channels.",
        },
        {"name": "audit", "description": "Records of who changed what, when and why."},
        {"name": "access", "description": "Principals, tokens and role bindings."},
    ],
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": [],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "COMPONENT_NO_READ_ONLY_REQUIRED": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SORT_OPERATION_PARAMETERS": False,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "GENERIC_ADDITIONAL_PROPERTIES": None,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "controlplane.api.schema.describe_problems",
    ],
    "ENUM_NAME_OVERRIDES": {
        "JobInstanceType": "registry.api.jobs.schemas.INSTANCE_TYPES",
        "PluginDiagnosticCode": "registry.api.plugins.schemas.CODES",
        "PluginDiagnosticSeverity": "registry.api.plugins.schemas.SEVERITIES",
        "SinkKind": "controlplane.endpoints.sinks.schemas.KINDS",
        "SinkOrdering": "controlplane.delivery.models.Ordering",
        "KafkaSecurityProtocol": "controlplane.delivery.kafka_sinks.PROTOCOLS",
        "KafkaSaslMechanism": "controlplane.delivery.kafka_sinks.MECHANISMS",
        "LargeEvents": "controlplane.endpoints.sinks.config_schema.LARGE",
        "WebhookMode": "controlplane.endpoints.sinks.config_schema.MODES",
        "SinkState": "controlplane.delivery.models.SinkState",
        "DeliveryResult": "controlplane.endpoints.sinks.delivery_schemas.RESULTS",
        "AlertState": "controlplane.notifications.models.ALERT_STATES",
        "AlertSeverity": "controlplane.notifications.models.SEVERITIES",
        "NotificationMode": "controlplane.notifications.models.MODES",
        "NotificationChannelKind": "controlplane.endpoints.notifications.channel_schemas.CHANNEL_KINDS",
        "NotificationService": "controlplane.endpoints.notifications.channel_schemas.OTHER_SERVICES",
        "NoteState": "controlplane.endpoints.notifications.alert_schemas.NOTE_STATES",
        "FlytePhase": "controlplane.endpoints.notifications.schemas.PHASE_NAMES",
        "WeekDay": "controlplane.endpoints.notifications.schemas.DAY_NAMES",
        "DeliveryState": "controlplane.delivery.models.DeliveryState",
        "LevelName": "controlplane.scopes.LEVEL_NAMES",
        "PrincipalKind": "controlplane.access.models.PrincipalKind",
        "ActionName": "controlplane.endpoints.access.schemas.ACTIONS",
        "AccessOrigin": "controlplane.access.team_models.Via",
        "OAuthClientType": "controlplane.endpoints.access.oauth.schemas.CLIENT_TYPES",
        "OAuthClientSource": "controlplane.access.oauth.models.ClientSource",
        "OAuthGrantName": "controlplane.endpoints.access.oauth.schemas.GRANT_NAMES",
        "SigningKeyState": "controlplane.endpoints.access.oauth.schemas.SIGNING_KEY_STATES",
        "IdentityProviderKind": "controlplane.endpoints.access.login.schemas.KINDS",
        "IdentityProviderSource": "controlplane.endpoints.access.login.schemas.SOURCES",
        "OverrideSourceKind": "overrides.api.effective.schemas.KINDS",
        "WhyNot": "overrides.api.effective.schemas.REASONS",
        "JsonPatchOperationName": "overrides.api.schemas.PATCH_OPERATIONS",
        "OverridesSourceName": "overrides.api.file_source.SOURCES",
        "OverridesSourceState": "overrides.api.file_source.STATE_NAMES",
        "OverridesDocumentKind": "overrides.api.documents.DOCUMENT_KINDS",
        "SinkFlavour": "controlplane.endpoints.sinks.schemas.FLAVOURS",
        "FlytectlKind": "overrides.api.importing.FLYTECTL_KINDS",
        "PathRuleName": "overrides.api.resource_types.MERGE_RULES",
        "ChangeKind": "overrides.api.plan_schemas.CHANGE_KINDS",
        "ProjectStateName": "overrides.api.project_schemas.STATES",
        "StrategyName": "overrides.api.schemas.STRATEGIES",
        "AgentState": "registry.api.agents.schemas.STATES",
        "DeadLetterState": "registry.api.dispatch.dead_letter_schemas.STATES",
        "DeadLetterEncoding": "registry.api.dispatch.dead_letter_schemas.ENCODINGS",
        "ResourceState": "registry.api.dispatch.resource_schemas.STATES",
        "ResourceGoal": "registry.api.dispatch.resource_schemas.GOALS",
        "AssignmentState": "registry.api.dispatch.assignment_schemas.STATES",
        "TimelineVerdict": "registry.api.dispatch.assignment_schemas.VERDICTS",
        "LeaseSource": "registry.api.agents.schemas.LEASE_SOURCES",
        "FleetGuardRuling": "registry.api.environments.RULINGS",
        "ConditionStatus": "registry.api.heartbeats.schemas.CONDITION_STATUSES",
        "ProviderHealth": "registry.api.heartbeats.schemas.PROVIDER_STATUSES",
        "ProviderKind": "registry.api.providers.schemas.KINDS",
        "AgentConfigSource": "registry.api.agent_configs.document_schemas.SOURCES",
        "FollowedSourceName": "registry.api.agent_configs.source_views.SOURCE_NAMES",
        "FollowedSourceState": "registry.api.agent_configs.source_views.STATE_NAMES",
        "ClaimKindName": "registry.agent_configs.models.KINDS",
        "FlyteDialect": "registry.agent_configs.models.DIALECTS",
        "ConfigurationFormat": "registry.api.agent_configs.data_plane_schemas.FORMATS",
        "AckStatus": "registry.api.agent_configs.data_plane_schemas.ACK_STATES",
        "CostTier": "registry.api.agents.schemas.COSTS",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}
