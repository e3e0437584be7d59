{{- /* The variables of a process: (dict "root" $ "kind" "rollout" "fact" its entry in kinds.yaml). */}}
{{- define "hone.environment" -}}
{{- $kinds := include "hone.kinds" .root | fromYaml }}
{{- $values := get .root.Values .kind }}
{{- $all := ternary "[::]" "0.0.0.0" .root.Values.ipv6 }}
{{- $own := ternary "[$(POD_IP)]" "$(POD_IP)" .root.Values.ipv6 }}
- {name: HONE_PROCESS_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
{{- if .fact.self }}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
{{- end }}
{{- with .fact.port }}
- {name: {{ $.fact.address }}, value: "{{ ternary $own $all (default false $.fact.self) }}:{{ . }}"}
{{- end }}
- {name: HONE_METRICS_ADDRESS, value: "{{ $all }}:9464"}
{{- range .fact.reaches }}
{{- $peer := get $kinds . }}
- {name: {{ $peer.address }}, value: "{{ include "hone.of" (dict "root" $.root "kind" .) }}:{{ $peer.port }}"}
{{- end }}
{{- range .fact.secrets }}
- {name: {{ . }}, valueFrom: {secretKeyRef: {name: {{ include "hone.secret" $.root }}, key: {{ include "hone.key" (dict "root" $.root "name" .) }}}}}
{{- end }}
{{- $computed := include (printf "hone.environment.%s" .kind) .root | fromYaml }}
{{- $given := merge (dict) $values.settings .root.Values.settings }}
{{- range $name, $value := merge (dict) $given $computed (include "hone.environment.trust" .root | fromYaml) }}
- {name: {{ $name }}, value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}}
{{- end }}
{{- with $values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Python's TLS and the libraries of sinks and traces read the first two, PostgreSQL's client the third. */}}
{{- define "hone.environment.trust" -}}
{{- if or .Values.trust.configMap .Values.trust.secret -}}
SSL_CERT_FILE: /etc/hone/trust/{{ .Values.trust.key }}
REQUESTS_CA_BUNDLE: /etc/hone/trust/{{ .Values.trust.key }}
PGSSLROOTCERT: /etc/hone/trust/{{ .Values.trust.key }}
{{- else }}{}{{ end }}
{{- end }}

{{- define "hone.environment.gateway" }}{}{{ end }}
{{- define "hone.environment.door" -}}
HONE_DOOR_CERT: /etc/hone/door/tls.crt
HONE_DOOR_KEY: /etc/hone/door/tls.key
{{- end }}

{{- define "hone.environment.driver" }}{}{{ end }}
{{- define "hone.environment.rollout" }}{}{{ end }}
{{- define "hone.environment.reward" }}{}{{ end }}
{{- define "hone.environment.value" }}{}{{ end }}
{{- define "hone.environment.simulation" -}}
{{- $worlds := .Values.simulation.worlds | default dict }}
{{- if or $worlds.configMap $worlds.secret -}}
HONE_WORLDS: /etc/hone/worlds/{{ $worlds.key }}
{{- else }}{}{{ end }}
{{- end }}
{{- define "hone.environment.sandbox" }}{}{{ end }}
{{- define "hone.environment.prepare" }}{}{{ end }}
{{- define "hone.environment.sinks" }}{}{{ end }}

{{- define "hone.environment.console" -}}
NICEGUI_STORAGE_PATH: /tmp/console
{{- end }}

{{- define "hone.environment.inference" -}}
{{- $values := .Values.inference }}
HONE_ENGINE: {{ $values.engine }}
{{- if gt (int $values.gpus) 0 }}
HONE_VLLM_TENSOR_PARALLEL: {{ $values.gpus }}
{{- end }}
{{- end }}

{{- define "hone.environment.trainer" -}}
{{- $values := .Values.trainer }}
HONE_TRAINER_RANKS: {{ include "hone.trainer.ranks" . }}
{{- if gt (int $values.gpus) 0 }}
HONE_TRAINER_DEVICE: cuda
{{- end }}
GLIBC_TUNABLES: glibc.malloc.hugetlb=1
{{- if gt (int $values.nodes) 1 }}
GLOO_SOCKET_IFNAME: {{ $values.interface }}
NCCL_SOCKET_IFNAME: {{ $values.interface }}
{{- end }}
{{- end }}
