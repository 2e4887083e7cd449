{{- define "collector.name" -}}
{{ printf "%s-collector" (trimSuffix "-collector" .Release.Name) | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "collector.selectorLabels" -}}
app.kubernetes.io/name: controlplane-collector
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "collector.labels" -}}
{{ include "collector.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
