"""Dialects of Flyte's configuration, which renamed agents to connectors and keeps changing. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from registry.agent_configs.documents.content import Operation


class Dialect(StrEnum):
    """The configuration section that a data plane reads."""

    AGENT = "agent"
    CONNECTOR = "connector"
    CONNECTOR_V2 = "connector-v2"


@dataclass(frozen=True, slots=True)
class DialectNames:
    """Names in a dialect. section: also the plugin ID. placeholders: task types while none is claimed."""

    section: str
    agents: str
    routes: str
    default_agent: str
    list_operation: str
    file: str
    placeholders: tuple[str, ...]

    def operation(self, operation: Operation) -> str:
        return self.list_operation if operation is Operation.LIST else operation.value

    def operations(self) -> dict[str, Operation]:
        return {self.operation(operation): operation for operation in Operation}


_AGENT = DialectNames(
    section="agent-service",
    agents="agents",
    routes="agentForTaskTypes",
    default_agent="defaultAgent",
    list_operation="ListAgents",
    file="agent_service.yaml",
    placeholders=("task_type_1", "task_type_2"),
)
_CONNECTOR = DialectNames(
    section="connector-service",
    agents="connectors",
    routes="connectorForTaskTypes",
    default_agent="defaultConnector",
    list_operation="ListConnectors",
    file="connector_service.yaml",
    placeholders=("task_type_3", "task_type_4"),
)
NAMES_BY_DIALECT: dict[Dialect, DialectNames] = {
    Dialect.AGENT: _AGENT,
    Dialect.CONNECTOR: _CONNECTOR,
    Dialect.CONNECTOR_V2: _CONNECTOR,
}
NAMES_BY_SECTION: dict[str, DialectNames] = {names.section: names for names in NAMES_BY_DIALECT.values()}
