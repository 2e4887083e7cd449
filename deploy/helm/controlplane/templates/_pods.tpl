{{/* What all pods have in common. Arguments: root, component, role, and `tmp`, the size of /tmp. */}}

{{- define "controlplane.podMetadata" -}}
labels:
  {{- include "controlplane.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := deepCopy .root.Values.podAnnotations }}
{{- with .root.Values.configFiles }}
{{- $_ := set $annotations "checksum/config-files" (toYaml . | sha256sum) }}
{{- end }}
{{- with .root.Values.restartedFor }}
{{- $_ := set $annotations "controlplane/restarted-for" . }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "controlplane.podIdentity" -}}
serviceAccountName: {{ include "controlplane.fullname" .root }}-{{ .serviceAccount | default .component }}
automountServiceAccountToken: {{ eq .component "agent-config-watcher" }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Pods of one process are on different nodes and in different zones where that is possible. */}}
{{- define "controlplane.podSpread" -}}
affinity:
  {{- if .root.Values.affinity }}
  {{- toYaml .root.Values.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "controlplane.selectorLabels" . | nindent 14 }}
  {{- end }}
{{- with .root.Values.topologySpread.keys }}
topologySpreadConstraints:
  {{- range . }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "controlplane.selectorLabels" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "controlplane.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "controlplane.containerImage" -}}
image: {{ include "controlplane.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{- define "controlplane.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: secrets, mountPath: /run/secrets/controlplane, readOnly: true}
{{- if .root.Values.database.ca.existingSecret }}
- {name: database-ca, mountPath: /etc/controlplane/database, readOnly: true}
{{- end }}
{{- if eq .root.Values.overridesSource.type "file" }}
- {name: overrides, mountPath: /etc/controlplane/overrides, readOnly: true}
{{- end }}
{{- if .root.Values.configFiles }}
- {name: config-files, mountPath: /etc/controlplane/files, readOnly: true}
{{- end }}
{{- with .root.Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "controlplane.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .tmp | default "256Mi" }}}
{{ include "controlplane.secretsVolume" . }}
{{- with .root.Values.database.ca }}
{{- if .existingSecret }}
- name: database-ca
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - {key: {{ .key }}, path: ca.crt}
{{- end }}
{{- end }}
{{- if eq .root.Values.overridesSource.type "file" }}
# Mounted as a folder: with subPath, changes of the ConfigMap would not arrive.
- name: overrides
  configMap: {name: {{ .root.Values.overridesSource.configMap }}}
{{- end }}
{{- if .root.Values.configFiles }}
- name: config-files
  configMap: {name: {{ include "controlplane.fullname" .root }}-{{ .configFiles | default "config-files" }}}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
