"""Alerts on causes: something that will hurt users soon, or that nobody would notice. Pure."""

from __future__ import annotations

from controlplane.observability.alerting.rules import Alert, Severity

CAUSES = (
    Alert(
        "CpMetricsAbsent",
        "absent(cp_heartbeat_interval_seconds)",
        Severity.PAGE,
        "No web server of Controlplane is scraped.",
        "Nothing else of Controlplane can raise an alert meanwhile.",
        "5m",
    ),
    Alert(
        "CpSweepStale",
        "min(cp_sweep_age_seconds) > 30",
        Severity.PAGE,
        "Silent agents are not noticed: the last sweep began {{ $value | humanizeDuration }} ago.",
        "Beat or the worker is down, or Valkey is.",
        "1m",
    ),
    Alert(
        "CpFleetGuard",
        "max by (environment) (cp_fleet_guard_engaged) > 0",
        Severity.PAGE,
        "Too many agents of the environment {{ $labels.environment }} fell silent at once.",
        "No agent of it becomes unavailable until they return or somebody rules.",
    ),
    Alert(
        "CpOutboxOld",
        "max(cp_outbox_oldest_seconds) > 60",
        Severity.PAGE,
        "Requests do not reach agents: the oldest waits {{ $value | humanizeDuration }}.",
        "No relay is running, or NATS is down.",
        "2m",
    ),
    Alert(
        "CpEventsLate",
        "max(cp_event_dispatch_lag_seconds) > 60",
        Severity.PAGE,
        "Events are not handed to sinks: the oldest waits {{ $value | humanizeDuration }}.",
        "The dispatcher of events is down or stuck.",
        "2m",
    ),
    Alert(
        "CpDeliveriesLate",
        "max by (sink_kind) (cp_deliveries_oldest_seconds) > 900",
        Severity.TICKET,
        "Receivers of kind {{ $labels.sink_kind }} get events late.",
        "A receiver is slow or fails; its sink is paused or disabled in the end.",
        "5m",
    ),
    Alert(
        "CpSinkDisabled",
        'max(cp_sinks{state="disabled"}) > 0',
        Severity.TICKET,
        "Disabled sinks: {{ $value }}.",
        "Their receivers are gone, or failed for days. Events for them wait in the log.",
    ),
    Alert(
        "CpJetStreamDiffers",
        "max by (stream) (cp_stream_differs) > 0",
        Severity.TICKET,
        "The stream {{ $labels.stream }} of NATS has other settings than Controlplane needs.",
        "Somebody changed it by hand, or an update needs a change that NATS refuses.",
        "5m",
    ),
    Alert(
        "CpDeadLetters",
        "max(cp_dead_letters_open) > 0",
        Severity.TICKET,
        "Messages that nobody could handle: {{ $value }}.",
        "An agent sends something that Controlplane does not understand.",
        "10m",
    ),
    Alert(
        "CpUnknownAgents",
        'sum(rate(cp_heartbeats_total{result=~"unknown_agent|agent_retired"}[10m])) > 0',
        Severity.TICKET,
        "Heartbeats arrive from agents that are not registered.",
        "After a restore, or after somebody removed an agent that still runs.",
        "30m",
    ),
    Alert(
        "CpSourceStale",
        "min by (source) (agentcfg_source_synced) == 0",
        Severity.TICKET,
        "The source {{ $labels.source }} of agent configurations cannot be read.",
        "The last good configurations stay in force, and changes do not arrive.",
        "10m",
    ),
    Alert(
        "CpPartitionMissing",
        "min by (log) (cp_log_partition_months_ahead) < 1"
        " or max by (log) (cp_log_rows_without_partition) > 0",
        Severity.TICKET,
        "The log {{ $labels.log }} has no partition for the next month.",
        "Rows go to the default partition, which makes the next partition slow to add.",
        "1h",
    ),
    Alert(
        "CpAuditBroken",
        "max(cp_audit_chain_breaks) > 0",
        Severity.PAGE,
        "The audit log was changed: the last verification found {{ $value }} breaks.",
        "Somebody wrote to the database past Controlplane, or a restore lost records.",
    ),
    Alert(
        "CpRulesFailing",
        "sum(rate(cp_notification_rule_failures_total[10m])) > 0",
        Severity.TICKET,
        "Rules of notifications fail.",
        "People may not hear of problems.",
        "15m",
    ),
)
