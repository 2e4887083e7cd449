{{/*
Secrets of a process: which key of which Secret becomes which file, and which setting names the file. The role is web,
worker, migrator or owner. Environments and volumes are both made of this list, so that they cannot differ.
*/}}
{{- define "controlplane.secretFiles" -}}
{{- $values := .root.Values -}}
{{- $database := $values.database -}}
{{- $keys := $database.keys -}}
- {setting: SECRET_KEY_FILE, secret: {{ $values.secretKey.existingSecret }}, key: {{ $values.secretKey.keys.secretKey }}, file: secret_key}
{{- with $values.secretKey.keys.fallbacks }}
- {setting: SECRET_KEY_FALLBACKS_FILE, secret: {{ $values.secretKey.existingSecret }}, key: {{ . }}, file: secret_key_fallbacks}
{{- end }}
{{- with $values.secretKey.keys.secretsKeys }}
- {setting: SECRETS_KEY_FILE, secret: {{ $values.secretKey.existingSecret }}, key: {{ . }}, file: secrets_keys}
{{- end }}
{{- if eq .role "owner" }}
- {setting: DATABASE_URL_FILE, secret: {{ $database.roles.existingSecret | default $database.existingSecret }}, key: {{ $database.roles.key }}, file: database_url}
{{- range $role := list "migrator" "web" "worker" }}
- {secret: {{ $database.existingSecret }}, key: {{ get $keys (printf "%sUrl" $role) }}, file: database_url_{{ $role }}}
{{- end }}
{{- else }}
{{- $direct := eq .role "web" | ternary $keys.webDirectUrl $keys.workerDirectUrl | default $keys.directUrl }}
{{- $own := get $keys (printf "%sUrl" .role) }}
{{- $file := empty $own | ternary "database_url" (printf "database_url_%s" .role) }}
- {setting: DATABASE_URL_FILE, secret: {{ $database.existingSecret }}, key: {{ $own | default $keys.url }}, file: {{ $file }}}
{{- if and $direct (has .role (list "web" "worker")) }}
- {setting: DATABASE_DIRECT_URL_FILE, secret: {{ $database.existingSecret }}, key: {{ $direct }}, file: database_direct_url}
{{- end }}
{{- if and $keys.replicaUrl (has .role (list "web" "worker")) }}
- {setting: DATABASE_REPLICA_URL_FILE, secret: {{ $database.existingSecret }}, key: {{ $keys.replicaUrl }}, file: database_replica_url}
{{- end }}
{{- end }}
- {setting: REDIS_URL_FILE, secret: {{ $values.redis.existingSecret }}, key: {{ $values.redis.key }}, file: redis_url}
- {setting: NATS_URL_FILE, secret: {{ $values.nats.existingSecret }}, key: {{ $values.nats.key }}, file: nats_url}
{{- with $values.nats.issuerSeedKey }}
- {setting: NATS_ISSUER_SEED_FILE, secret: {{ $values.nats.existingSecret }}, key: {{ . }}, file: nats_issuer_seed}
{{- end }}
{{- with $values.traces }}
{{- if and .endpoint .headers.existingSecret }}
- {setting: OTEL_EXPORTER_OTLP_HEADERS_FILE, secret: {{ .headers.existingSecret }}, key: {{ .headers.key }}, file: otlp_headers}
{{- end }}
{{- end }}
{{- $auth := $values.auth }}
{{- with $auth.keys.oidcClientSecret }}
- {setting: OIDC_CLIENT_SECRET_FILE, secret: {{ $auth.existingSecret }}, key: {{ . }}, file: oidc_client_secret}
{{- end }}
{{- with $auth.keys.identityProviders }}
- {setting: IDENTITY_PROVIDERS_FILE, secret: {{ $auth.existingSecret }}, key: {{ . }}, file: identity_providers}
{{- end }}
{{- with $auth.keys.externalIssuers }}
- {setting: EXTERNAL_ISSUERS_FILE, secret: {{ $auth.existingSecret }}, key: {{ . }}, file: external_issuers}
{{- end }}
{{- with $auth.keys.flyteAuthConfig }}
- {setting: FLYTE_AUTH_CONFIG_FILE, secret: {{ $auth.existingSecret }}, key: {{ . }}, file: flyte_auth_config}
{{- end }}
{{- end -}}

{{/* One volume of all these files. Each process sees its own only. */}}
{{- define "controlplane.secretsVolume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range include "controlplane.secretFiles" . | fromYamlArray }}
      - secret:
          name: {{ .secret }}
          items:
            - {key: {{ .key }}, path: {{ .file }}}
      {{- end }}
{{- end -}}
