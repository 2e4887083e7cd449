"""Read the `plugins` and `tasks` sections of a team's document. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from registry.agent_configs.documents.content import Deployment
from registry.agent_configs.documents.deployments import check_agent_id, read_deployment
from registry.agent_configs.documents.diagnostics import Code, Findings, Node, Place, quote_value
from registry.agent_configs.documents.dialects import NAMES_BY_SECTION, DialectNames
from registry.agent_configs.documents.fields import read_entries, read_items, read_members, read_text
from registry.agent_configs.documents.limits import Limits
from registry.agent_configs.documents.task_type_names import check_task_type

ROOTS = ("plugins", "tasks")
_PLATFORM = (
    *(names.default_agent for names in NAMES_BY_SECTION.values()),
    "webApi",
    "resourceConstraints",
    "pollInterval",
    "connectorApps",
    "logs",
)
_TASK_PLUGINS = "default-for-task-types"


@dataclass(slots=True)
class Draft:
    """The content of one file with locations. An agent with invalid settings has only its ID."""

    section: str = ""
    agents: dict[str, tuple[Deployment | None, Place]] = field(default_factory=dict)
    supported: dict[str, Place] = field(default_factory=dict)
    mappings: dict[str, tuple[str, Place]] = field(default_factory=dict)
    defaults: dict[str, tuple[str, Place]] = field(default_factory=dict)


def read_payload(node: Node, limits: Limits, findings: Findings) -> Draft:
    """Read one file: everything readable, and all its errors."""
    draft = Draft()
    fields = read_members(node, ROOTS, findings, forbidden=None)
    if "plugins" in fields:
        _read_plugins(fields["plugins"], draft, limits, findings)
    if "tasks" in fields:
        _read_tasks(fields["tasks"], draft, limits, findings)
    return draft


def _read_plugins(node: Node, draft: Draft, limits: Limits, findings: Findings) -> None:
    fields = read_members(node, NAMES_BY_SECTION, findings, forbidden=None)
    if len(fields) > 1:
        message = "A document cannot have both agent-service and connector-service."
        findings.error(
            node.place, Code.SCHEMA_VIOLATION, message, "Choose one; data planes get the one they read."
        )
    for section, body in fields.items():
        draft.section = section
        _read_section(body, NAMES_BY_SECTION[section], draft, limits, findings)


def _read_section(node: Node, names: DialectNames, draft: Draft, limits: Limits, findings: Findings) -> None:
    allowed = (names.agents, names.routes, "supportedTaskTypes")
    fields = read_members(node, allowed, findings, forbidden=_PLATFORM)
    if names.agents in fields:
        _read_agents(fields[names.agents], names, draft, limits, findings)
    if "supportedTaskTypes" in fields:
        _read_supported(fields["supportedTaskTypes"], draft, limits, findings)
    if names.routes in fields:
        _read_mappings(fields[names.routes], draft, limits, findings)


def _read_agents(node: Node, names: DialectNames, draft: Draft, limits: Limits, findings: Findings) -> None:
    for name, body in read_entries(node, findings):
        check_agent_id(name, body, findings)
        draft.agents[name] = (read_deployment(body, names, limits, findings), body.place)


def _read_supported(node: Node, draft: Draft, limits: Limits, findings: Findings) -> None:
    for item in read_items(node, findings):
        name = read_text(item, findings)
        if name is None:
            continue
        check_task_type(name, item.place, limits.reserved_task_types, findings)
        if name in draft.supported:
            findings.error(item.place, Code.DUPLICATE, f"{quote_value(name)} is in the list twice.")
        draft.supported.setdefault(name, item.place)


def _read_mappings(node: Node, draft: Draft, limits: Limits, findings: Findings) -> None:
    for name, value in read_entries(node, findings):
        check_task_type(name, value.place, limits.reserved_task_types, findings)
        agent = read_text(value, findings)
        if agent is not None:
            check_agent_id(agent, value, findings)
        draft.mappings[name] = (agent or "", value.place)


def _read_tasks(node: Node, draft: Draft, limits: Limits, findings: Findings) -> None:
    fields = read_members(
        node, ("task-plugins",), findings, forbidden=("max-plugin-phase-versions", "backoff")
    )
    if "task-plugins" not in fields:
        return
    inner = read_members(fields["task-plugins"], (_TASK_PLUGINS,), findings, forbidden=("enabled-plugins",))
    for name, value in read_entries(inner[_TASK_PLUGINS], findings) if inner else ():
        _read_default(name, value, draft, limits, findings)


def _read_default(name: str, node: Node, draft: Draft, limits: Limits, findings: Findings) -> None:
    check_task_type(name, node.place, limits.reserved_task_types, findings)
    if node.value not in NAMES_BY_SECTION:
        message = f"The default plugin of a task type must be an agent plugin, not {quote_value(node.value)}."
        hint = f"Use {' or '.join(NAMES_BY_SECTION)}."
        findings.error(node.place, Code.SCHEMA_VIOLATION, message, hint)
    if name != name.lower():
        message = f"Propeller converts {name} to lower case here, so this default is never used."
        findings.warn(node.place, Code.UPPER_CASE_DEFAULT, message, f"Rename it to {name.lower()}.")
    if name.lower() in draft.defaults:
        findings.error(node.place, Code.DUPLICATE, f"{name.lower()} has two defaults.")
    draft.defaults.setdefault(name.lower(), (str(node.value), node.place))
