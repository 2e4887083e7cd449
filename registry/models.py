"""Models of the registry, re-exported for Django. Each is defined in the package that owns it."""

from registry.agent_configs.models import (
    AgentConfig,
    AgentConfigBundle,
    AgentConfigGeneration,
    AgentConfigGrant,
    AgentConfigQuarantine,
    AgentConfigRelease,
    AgentConfigStatus,
    ClaimRecord,
    DataPlane,
)
from registry.agent_configs.part_models import AgentConfigPace, AgentConfigPart
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.source_models import AgentConfigCluster, AgentConfigFolder, RegisteredCluster
from registry.agent_configs.team_models import PublishingTeam
from registry.agents.models import Agent, AgentReport, AgentTally, Lease, SweepRecord
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow, TimelineRow
from registry.dispatch.nats_logins.models import NatsLogin, NatsSession
from registry.environments.models import Environment
from registry.jobs.models import Job, JobRun, JobSecret, JobStep, JobVariables
from registry.joining.models import Admission, JoinToken, RepeatableJoin
from registry.plugin_releases.models import (
    PluginArtifact,
    PluginConfig,
    PluginFolder,
    PluginInstallation,
    PluginNode,
    PluginRelease,
    PluginSecret,
    PluginSet,
    ReleasedPlugin,
)
from registry.providers.models import Provider, ProviderChange
from registry.task_types.models import ServedTaskType, TaskTypeName

__all__ = [
    "Admission",
    "Agent",
    "AgentBulkChange",
    "AgentBulkChangeItem",
    "AgentConfig",
    "AgentConfigBundle",
    "AgentConfigCluster",
    "AgentConfigFolder",
    "AgentConfigGeneration",
    "AgentConfigGrant",
    "AgentConfigPace",
    "AgentConfigPart",
    "AgentConfigPin",
    "AgentConfigQuarantine",
    "AgentConfigRelease",
    "AgentConfigStatus",
    "AgentEndpoint",
    "AgentMessaging",
    "AgentReport",
    "AgentTally",
    "AssignmentRow",
    "ClaimRecord",
    "DataPlane",
    "Environment",
    "Job",
    "JobRun",
    "JobSecret",
    "JobStep",
    "JobVariables",
    "JoinToken",
    "Lease",
    "NatsLogin",
    "NatsSession",
    "PluginArtifact",
    "PluginConfig",
    "PluginFolder",
    "PluginInstallation",
    "PluginNode",
    "PluginRelease",
    "PluginSecret",
    "PluginSet",
    "Provider",
    "ProviderChange",
    "PublishingTeam",
    "RegisteredCluster",
    "ReleasedPlugin",
    "RepeatableJoin",
    "ResourceRow",
    "ServedTaskType",
    "SweepRecord",
    "TaskTypeName",
    "TimelineRow",
]
