{{/* Environment of a process: that of docker-compose.yml, and what values add. A test compares the two. */}}
{{- define "controlplane.environment" -}}
{{- $values := .root.Values -}}
{{- $scraped := and $values.metrics.serviceMonitor.enabled (eq .component "web") -}}
{{- $hosts := concat (list (include "controlplane.publicHost" .root)) $values.allowedHosts | uniq -}}
{{- if $scraped }}
# Prometheus calls pods by their addresses.
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- $hosts = append $hosts "$(POD_IP)" }}
{{- end }}
- {name: DJANGO_SETTINGS_MODULE, value: controlplane.settings.production}
- {name: ALLOWED_HOSTS, value: {{ join "," $hosts | quote }}}
- {name: PUBLIC_URL, value: {{ $values.publicUrl | quote }}}
- {name: BEHIND_TLS_PROXY, value: {{ $values.behindTlsProxy | quote }}}
- {name: TRUSTED_PROXIES, value: {{ join "," $values.trustedProxies | quote }}}
- {name: LOG_LEVEL, value: {{ $values.logLevel | quote }}}
{{- range include "controlplane.secretFiles" . | fromYamlArray }}
{{- if .setting }}
- {name: {{ .setting }}, value: /run/secrets/controlplane/{{ .file }}}
{{- end }}
{{- end }}
{{- include "controlplane.tracesEnvironment" $values.traces }}
{{- if and (eq $values.database.pooler "transaction") (has .role (list "web" "worker")) }}
- {name: DATABASE_POOLER, value: transaction}
{{- end }}
{{- with $values.nats.agentUrl }}
- {name: NATS_AGENT_URL, value: {{ . | quote }}}
{{- end }}
{{- if ne (int $values.nats.replicas) 1 }}
- {name: NATS_REPLICAS, value: {{ $values.nats.replicas | quote }}}
{{- end }}
{{- if and $values.leaveSeconds (has .component (list "web" "flyte-grpc" "pools-redis")) }}
- {name: LEAVE_SECONDS, value: {{ $values.leaveSeconds | quote }}}
{{- end }}
- {name: DCM_AGENTS, value: {{ $values.nats.dcmAgents | quote }}}
{{- if $values.plugins.enabled }}
- {name: PLUGIN_STORE, value: /plugins/store}
- {name: PLUGIN_ROOT, value: /plugins/installed}
{{- end }}
{{- if not (hasKey $values.settings "BOOT_INIT_IMAGE") }}
# Pods of jobs start with this image's own programs.
- {name: BOOT_INIT_IMAGE, value: {{ include "controlplane.image" .root }}}
{{- end }}
{{- include "controlplane.authEnvironment" $values.auth }}
{{- if eq $values.overridesSource.type "file" }}
- {name: OVERRIDES_SOURCE, value: file}
- {name: OVERRIDES_PATH, value: /etc/controlplane/overrides}
{{- end }}
{{- include "controlplane.watchEnvironment" $values.agentConfigs.watch }}
{{- if and $values.metrics.port (has .component (include "controlplane.counting" . | fromYamlArray)) }}
- {name: METRICS_ADDRESS, value: 0.0.0.0}
- {name: METRICS_PORT, value: {{ $values.metrics.port | quote }}}
{{- end }}
{{- range $name, $value := $values.settings }}
{{- /* Migrations have a limit of their own. */}}
{{- if not (and (hasPrefix "migrate" $.component) (eq $name "DATABASE_STATEMENT_TIMEOUT_MS")) }}
{{- /* Helm reads numbers as floats, which it would write as 1.6777216e+07. */}}
- {name: {{ $name }}, value: {{ kindIs "float64" $value | ternary (int64 $value) $value | toString | quote }}}
{{- end }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Only what differs from the defaults of the settings: FLYTE_AUTH_CONFIG_FILE sets defaults too. */}}
{{- define "controlplane.authEnvironment" -}}
{{- if ne .server "self" }}
- {name: AUTH_SERVER, value: {{ .server | quote }}}
{{- end }}
{{- if ne .localLogin "admins" }}
- {name: LOCAL_LOGIN, value: {{ .localLogin | quote }}}
{{- end }}
{{- if not .jit }}
- {name: JIT, value: "false"}
{{- end }}
{{- with .oidc }}
{{- if .issuer }}
- {name: OIDC_ISSUER, value: {{ .issuer | quote }}}
- {name: OIDC_CLIENT_ID, value: {{ .clientId | quote }}}
- {name: OIDC_KIND, value: {{ .kind | quote }}}
- {name: OIDC_TITLE, value: {{ .title | quote }}}
- {name: OIDC_GROUP_CLAIM, value: {{ .groupClaim | quote }}}
{{- end }}
{{- end }}
{{- end -}}

{{/* The headers may hold a secret: they come as a file. */}}
{{- define "controlplane.tracesEnvironment" -}}
{{- if .endpoint }}
{{- $attributes := list }}
{{- range $name, $value := .resourceAttributes }}
{{- $attributes = append $attributes (printf "%s=%s" $name $value) }}
{{- end }}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .endpoint | quote }}}
- {name: OTEL_RESOURCE_ATTRIBUTES, value: {{ join "," $attributes | quote }}}
- {name: OTEL_TRACES_SAMPLER, value: {{ .sampler | quote }}}
- {name: OTEL_TRACES_SAMPLER_ARG, value: {{ .share | toString | quote }}}
- {name: TRACES_ENVIRONMENT, value: {{ .environment | quote }}}
{{- end }}
{{- end -}}

{{/* Processes that count for themselves and serve it on a port of their own. Web serves /metrics itself. */}}
{{- define "controlplane.counting" -}}
[worker, beat, relay, flyte-grpc, pools-redis, plugin-installer]
{{- end -}}

{{/* For every process: the worker notices when no watcher reports. */}}
{{- define "controlplane.watchEnvironment" -}}
{{- if .enabled }}
- {name: AGENT_CONFIGS_KUBERNETES_NAMESPACES, value: {{ .clusterWide | ternary "*" (join "," .namespaces) | quote }}}
{{- with .selector }}
- {name: AGENT_CONFIGS_KUBERNETES_SELECTOR, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end -}}
