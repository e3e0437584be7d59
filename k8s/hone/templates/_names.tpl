{{- define "hone.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
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
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- /* (dict "root" $ "image" "postgres"): ours get the chart's tag. */}}
{{- define "hone.image" -}}
{{- $images := .root.Values.images }}
{{- $name := get $images .image }}
{{- if has .image (list "services" "native" "vllm") }}{{ $name = printf "%s:%s" $name ($images.tag | default .root.Chart.AppVersion) }}{{ end }}
{{- with $images.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $name }}
{{- end }}
