{{/* Names, labels and the image. */}}

{{- define "controlplane.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 35 | trimSuffix "-" -}}
{{- end -}}

{{- /* 35: with the name of a process, a StatefulSet may have 52, because its pods carry more in a label. */}}
{{- define "controlplane.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 35 | trimSuffix "-" -}}
{{- else if contains (include "controlplane.name" .) .Release.Name -}}
{{- .Release.Name | trunc 35 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "controlplane.name" .) | trunc 35 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Immutable in a Deployment: never add a label here. */}}
{{- define "controlplane.selectorLabels" -}}
app.kubernetes.io/name: {{ include "controlplane.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "controlplane.labels" -}}
{{ include "controlplane.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* All pods of this release. */}}
{{- define "controlplane.releaseLabels" -}}
app.kubernetes.io/name: {{ include "controlplane.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "controlplane.metadata" -}}
name: {{ include "controlplane.fullname" .root }}-{{ .component }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "controlplane.labels" . | nindent 2 }}
{{- end -}}

{{- define "controlplane.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "controlplane.publicHost" -}}
{{- $host := (urlParse .Values.publicUrl).host -}}
{{- if contains ":" $host }}{{ regexReplaceAll ":[0-9]+$" $host "" }}{{ else }}{{ $host }}{{ end -}}
{{- end -}}

{{- /* Roles may be in namespaces of teams, and ClusterRoles are in none: the name has that of the release. */}}
{{- define "controlplane.watcherRole" -}}
{{ .Release.Namespace }}-{{ include "controlplane.fullname" . }}-agent-config-watcher
{{- end -}}

{{- define "controlplane.pluginStoreClaim" -}}
{{ .Values.plugins.store.existingClaim | default (printf "%s-plugin-store" (include "controlplane.fullname" .)) }}
{{- end -}}

{{- /* Processes and Jobs of this release. */}}
{{- define "controlplane.components" -}}
{{- $values := .Values -}}
- web
- worker
- beat
- relay
{{- if $values.flyteGrpc.enabled }}
- flyte-grpc
{{- end }}
{{- if $values.agentConfigs.watch.enabled }}
- agent-config-watcher
{{- end }}
{{- if $values.pools.redisDoor.enabled }}
- pools-redis
{{- end }}
{{- if $values.plugins.enabled }}
- plugin-installer
{{- end }}
- migrate
{{- if $values.database.roles.enabled }}
- database-roles
{{- end }}
- test
{{- if eq $values.database.pooler "transaction" }}
- test-web-role
- test-worker-role
{{- end }}
{{- end -}}
