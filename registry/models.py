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
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.source_models import AgentConfigCluster, AgentConfigFolder
from registry.agent_configs.team_models import PublishingTeam
from registry.agents.models import Agent, AgentReport, AgentTally, Lease, SweepRecord
from registry.environments.models import Environment
from registry.joining.models import Admission, JoinToken, RepeatableJoin
from registry.providers.models import Provider, ProviderChange
from registry.task_types.models import ServedTaskType, TaskTypeName

__all__ = [
    "Admission",
    "Agent",
    "AgentConfig",
    "AgentConfigBundle",
    "AgentConfigCluster",
    "AgentConfigFolder",
    "AgentConfigGeneration",
    "AgentConfigGrant",
    "AgentConfigPace",
    "AgentConfigPart",
    "AgentConfigQuarantine",
    "AgentConfigRelease",
    "AgentConfigStatus",
    "AgentEndpoint",
    "AgentReport",
    "AgentTally",
    "ClaimRecord",
    "DataPlane",
    "Environment",
    "JoinToken",
    "Lease",
    "Provider",
    "ProviderChange",
    "PublishingTeam",
    "RepeatableJoin",
    "ServedTaskType",
    "SweepRecord",
    "TaskTypeName",
]
