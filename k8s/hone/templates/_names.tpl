{{- /* A longer name ends in a part of its digest, so that two long releases of one namespace have two names. */}}
{{- define "hone.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) }}
{{- if le (len $name) 40 }}{{ $name }}{{ else }}{{ printf "%s-%s" ($name | trunc 33 | trimSuffix "-") (sha256sum $name | trunc 6) }}{{ end }}
{{- end }}

{{- define "hone.kinds" -}}
{{- .Files.Get "files/kinds.yaml" }}
{{- end }}

{{- define "hone.secret" -}}
{{- if .Values.bundled.enabled }}{{ include "hone.name" . }}{{ else }}{{ .Values.secret.existing }}{{ end }}
{{- end }}

{{- /* Arguments of the next ones: (dict "root" $ "kind" "rollout") */}}
{{- define "hone.of" -}}
{{ include "hone.name" .root }}-{{ .kind }}
{{- end }}

{{- define "hone.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .kind }}
{{- end }}

{{- define "hone.metadata" -}}
name: {{ .name | default (include "hone.of" .) }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "hone.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The key of a setting in that Secret: (dict "root" $ "name" "HONE_DATABASE_URL"). */}}
{{- define "hone.key" -}}
{{- if .root.Values.bundled.enabled }}{{ .name }}{{ else }}{{ get .root.Values.secret.keys .name | default .name }}{{ end }}
{{- end }}

{{- /* (dict "root" $ "image" "postgres"): ours get the chart's tag, unless they have a digest. */}}
{{- define "hone.image" -}}
{{- $images := .root.Values.images }}
{{- $name := get $images .image }}
{{- if has .image (list "services" "native" "vllm") | and (not (contains "@" $name)) }}{{ $name = printf "%s:%s" $name ($images.tag | default .root.Chart.AppVersion) }}{{ end }}
{{- with $images.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $name }}
{{- end }}
