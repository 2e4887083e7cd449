"""The dashboards, by subject. Pure."""

from __future__ import annotations

from deploy.grafana.panels import (
    COUNT,
    PER_CENT,
    PER_SECOND,
    SECONDS,
    Dashboard,
    Panel,
    Query,
    figure,
    quantiles,
    rate,
    total,
)

_ERRORS = Panel(
    "Share of errors",
    PER_CENT,
    (
        Query(
            'sum(rate(cp_http_requests_total{code_class="5xx"}[$__rate_interval]))'
            " / sum(rate(cp_http_requests_total[$__rate_interval]))",
            "5xx",
        ),
    ),
    "The objective is 0.05 %.",
)
_VERSIONS = Panel(
    "Versions",
    COUNT,
    (Query("count by (version) (cp_build_info)", "{{version}}"),),
    "More than one: an upgrade.",
)
_FULL = Panel(
    "Share of connections in use",
    PER_CENT,
    (Query("sum by (kind) (cp_db_pool_in_use) / (sum by (kind) (cp_db_pool_max) > 0)", "{{kind}}"),),
)
DASHBOARDS = (
    Dashboard(
        "controlplane-api",
        "Controlplane: API",
        (
            rate("Requests", "cp_http_requests_total", "code_class"),
            _ERRORS,
            quantiles("Response time", "cp_http_request_duration_seconds"),
            quantiles(
                "Response time of effective reads",
                "cp_http_request_duration_seconds",
                where='{route=~".*overrides/effective.*"}',
            ),
            rate("Effective reads", "cp_effective_reads_total", "outcome"),
            rate("Calls of Flyte's clients", "cp_flyte_calls_total", "code"),
            quantiles("Time of Flyte's calls", "cp_flyte_call_duration_seconds", "transport"),
            total("Open event streams", "cp_watchers"),
            _VERSIONS,
        ),
    ),
    Dashboard(
        "controlplane-agents",
        "Controlplane: agents",
        (
            figure("Agents", "cp_agents", by="state"),
            rate("Heartbeats", "cp_heartbeats_total", "result"),
            rate("Joins", "cp_agent_joins_total", "result"),
            figure("Age of the last sweep", "cp_sweep_age_seconds", SECONDS, description="Alert above 30 s."),
            figure("Fleet guards engaged", "cp_fleet_guard_engaged", by="environment"),
            figure("Heartbeat interval", "cp_heartbeat_interval_seconds", SECONDS),
            figure("Service providers", "cp_service_providers", by="state"),
            figure("Agents that receive nothing by NATS", "cp_agents_without_consumer"),
        ),
    ),
    Dashboard(
        "controlplane-dispatch",
        "Controlplane: dispatch",
        (
            figure("Unsent messages", "cp_outbox_unsent"),
            figure(
                "Age of the oldest message",
                "cp_outbox_oldest_seconds",
                SECONDS,
                description="Alert above 60 s.",
            ),
            figure("Resources on their way", "cp_resources_unfinished", by="state"),
            figure("Oldest resource", "cp_resource_oldest_seconds", SECONDS, by="state"),
            figure("Requests by service type", "cp_dispatch_requests", by="service_type, state"),
            quantiles("Seconds from request to start", "cp_dispatch_start_seconds", "service_type"),
            rate("Messages from agents", "cp_dispatch_messages_total", "result"),
            figure("Assignments to another agent", "cp_resource_replacements_total", by="service_type"),
            figure("Dead letters", "cp_dead_letters_open"),
            figure("Dead letters by service type", "cp_dispatch_dead_letters", by="service_type"),
        ),
    ),
    Dashboard(
        "controlplane-events-out",
        "Controlplane: events out",
        (
            figure("Sinks", "cp_sinks", by="state"),
            figure("Events that wait for sinks", "cp_deliveries_waiting", by="sink_kind"),
            figure("Oldest event that waits", "cp_deliveries_oldest_seconds", SECONDS, by="sink_kind"),
            rate("Deliveries", "cp_deliveries_total", "result"),
            quantiles("Response time of receivers", "cp_delivery_duration_seconds", "sink_kind"),
            figure("Events that are not queued yet", "cp_event_dispatch_lag_seconds", SECONDS),
            figure("Alerts", "cp_alerts", by="severity"),
            rate("Messages to people", "cp_notifications_total", "result"),
        ),
    ),
    Dashboard(
        "controlplane-pools",
        "Controlplane: pools",
        (
            Panel(
                "Share of the units in use",
                PER_CENT,
                (Query("max by (pool) (cp_pool_used) / (max by (pool) (cp_pool_capacity) > 0)", "{{pool}}"),),
            ),
            figure("Requests that wait", "cp_pool_waiting", by="pool"),
            figure("Oldest request", "cp_pool_oldest_wait_seconds", SECONDS, by="pool"),
            figure("Pools without a grant", "cp_pool_starved_seconds", SECONDS, by="pool"),
            rate("Requests for units", "cp_pool_grants_total", "result"),
            quantiles("Time in the queue", "cp_pool_wait_seconds"),
            figure("Units that differ from leases", "cp_pool_drift"),
        ),
    ),
    Dashboard(
        "controlplane-records",
        "Controlplane: records",
        (
            figure("Months of partitions ahead", "cp_log_partition_months_ahead", by="log"),
            figure("Breaks of the audit chain", "cp_audit_chain_breaks"),
            figure("Streams that differ", "cp_stream_differs", by="stream"),
            figure("Partitions that are not archived", "cp_log_partitions_unarchived", by="log"),
            figure("Events without a number", "cp_event_feed_lag_seconds", SECONDS),
            Panel(
                "Events",
                PER_SECOND,
                (Query("max (rate(cp_events_numbered_total[$__rate_interval]))", "events"),),
                "Those that followers can read.",
            ),
        ),
    ),
    Dashboard(
        "controlplane-database",
        "Controlplane: database",
        (
            total("Connections in use", "cp_db_pool_in_use", "kind"),
            _FULL,
            quantiles("Time until there is a connection", "cp_db_wait_seconds", "kind"),
            figure("Role of the server", "cp_db_role", by="role"),
            figure(
                "Delay of standbys",
                "cp_db_replication_lag_seconds",
                SECONDS,
                by="node",
                description="Alert above 10 s.",
            ),
            figure("No synchronous standby", "cp_db_sync_standby_missing"),
        ),
    ),
    Dashboard(
        "controlplane-tasks",
        "Controlplane: tasks",
        (
            figure("Tasks that wait", "cp_queue_depth", by="queue"),
            Panel(
                "Time since beat started a task",
                SECONDS,
                (Query("time() - max(cp_beat_last_tick_timestamp_seconds)", "beat"),),
                "Alert above 60 s.",
            ),
            rate("Tasks", "cp_task_total", "result"),
            Panel(
                "Tasks that failed",
                PER_SECOND,
                (
                    Query(
                        'sum by (task) (rate(cp_task_total{result="failure"}[$__rate_interval]))', "{{task}}"
                    ),
                ),
            ),
            quantiles("Time of tasks", "cp_task_duration_seconds", "task"),
            Panel(
                "Age of processes",
                SECONDS,
                (Query("time() - min by (process) (cp_process_start_time_seconds)", "{{process}}"),),
                "Of the youngest: it drops with each restart.",
            ),
        ),
    ),
    Dashboard(
        "controlplane-access",
        "Controlplane: authentication",
        (
            rate("Authentications", "cp_auth_total", "method"),
            Panel(
                "Refused authentications",
                PER_SECOND,
                (
                    Query(
                        'sum by (method) (rate(cp_auth_total{result="refused"}[$__rate_interval]))',
                        "{{method}}",
                    ),
                ),
            ),
            quantiles("Time to check a token", "cp_token_checks_seconds"),
            rate("Requests to identity providers", "cp_oidc_requests_total", "result"),
            figure("Age of the signing key", "cp_signing_key_age_seconds", SECONDS),
            Panel(
                "Time until certificates end",
                SECONDS,
                (
                    Query(
                        "min by (certificate) (cp_certificate_expiry_timestamp_seconds) - time()",
                        "{{certificate}}",
                    ),
                ),
            ),
            Panel(
                "Audit records that were not written",
                PER_SECOND,
                (Query("sum(rate(cp_audit_failures_total[$__rate_interval]))", "failures"),),
            ),
        ),
    ),
    Dashboard(
        "controlplane-flyte",
        "Controlplane: executions of Flyte",
        (
            rate("Phases that executions enter", "cp_flyte_executions_total", "phase"),
            quantiles("Time in a phase", "cp_flyte_workflow_phase_seconds", "phase"),
            quantiles("Time of executions", "cp_flyte_workflow_seconds", "phase"),
        ),
    ),
)
