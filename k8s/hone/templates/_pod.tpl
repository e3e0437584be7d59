{{- /* The pod of a kind of process: (dict "root" $ "kind" "rollout" "fact" its entry in kinds.yaml). With "follows" it is a
further node of a trainer, about which only the first one has a row. */}}
{{- define "hone.pod" -}}
{{- $values := get .root.Values .kind }}
{{- $shm := get $values "shm" }}
metadata:
  {{- include "hone.pod.metadata" . | nindent 2 }}
spec:
  {{- include "hone.pod.rights" (dict "Values" .root.Values "own" $values) | nindent 2 }}
  {{- include "hone.pod.place" . | nindent 2 }}
  shareProcessNamespace: true  # the pause process reaps what our processes leave behind
  terminationGracePeriodSeconds: {{ add .fact.grace 5 }}
  {{- if and .root.Values.bundled.enabled (ne .kind "console") }}
  initContainers:
    - name: wait  # the servers come up at the same time, and `prepare` after them
      image: {{ include "hone.image" (dict "root" .root "image" (include "hone.pod.image" .)) }}
      imagePullPolicy: {{ .root.Values.images.pullPolicy }}
      command: ["python", "-m", "hone.stack.container", "wait", {{ .kind | quote }}]
      env:
        {{- include "hone.environment" . | nindent 8 }}
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      securityContext:
        {{- include "hone.confined" . | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- include "hone.trust.mount" .root | nindent 8 }}
  {{- end }}
  containers:
    - name: {{ .kind }}
      image: {{ include "hone.image" (dict "root" .root "image" (include "hone.pod.image" .)) }}
      imagePullPolicy: {{ .root.Values.images.pullPolicy }}
      command: {{ include "hone.pod.command" . }}
      env:
        {{- include "hone.environment" . | nindent 8 }}
      {{- with get $values "secret" }}
      envFrom:
        - secretRef: {name: {{ . }}}
      {{- end }}
      ports:
        {{- with .fact.port }}
        - {name: {{ $.kind }}, containerPort: {{ . }}}
        {{- end }}
        - {name: metrics, containerPort: 9464}
      {{- if not .follows }}
      {{- include "hone.probes" . | nindent 6 }}
      {{- end }}
      {{- if .fact.port }}
      lifecycle:  # callers get time to hear that this pod leaves
        preStop: {exec: {command: ["sleep", "5"]}}
      {{- end }}
      resources:
        {{- include "hone.pod.resources" . | nindent 8 }}
      securityContext:
        {{- include "hone.confined" . | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- include "hone.trust.mount" .root | nindent 8 }}
        {{- with include "hone.worlds.volume" . }}
        - {name: worlds, mountPath: /etc/hone/worlds, readOnly: true}
        {{- end }}
        {{- if eq .kind "door" }}
        - {name: certificate, mountPath: /etc/hone/door, readOnly: true}
        {{- end }}
        {{- if $shm }}
        - {name: shm, mountPath: /dev/shm}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {sizeLimit: {{ $values.tmp }}}}
    {{- include "hone.trust.volume" .root | nindent 4 }}
    {{- include "hone.worlds.volume" . | nindent 4 }}
    {{- if eq .kind "door" }}
    - {name: certificate, secret: {secretName: {{ $values.tls.existingSecret | default (include "hone.of" .) }}, defaultMode: 0440}}
    {{- end }}
    {{- if $shm }}
    - {name: shm, emptyDir: {medium: Memory, sizeLimit: {{ $shm }}}}
    {{- end }}
{{- end }}

{{- /* `own` are the values of a kind that needs another profile than the runtime's. */}}
{{- define "hone.pod.rights" -}}
{{- $own := .own | default dict }}
automountServiceAccountToken: false
enableServiceLinks: false  # they would be HONE_… variables, and unknown ones are refused
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - {name: {{ . }}}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .Values.pods.user }}
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  {{- end }}
  seccompProfile: {{ get $own "seccompProfile" | default (dict "type" "RuntimeDefault") | toJson }}
{{- end }}

{{- /* What a kind says of its pods; where it says nothing, what is said of all. */}}
{{- define "hone.pod.choices" -}}
{{- $own := get .root.Values .kind | default dict }}
{{- $found := dict }}
{{- range list "annotations" "labels" "serviceAccountName" "priorityClassName" "runtimeClassName" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- $_ := set $found . (get $own . | default (get $.root.Values.pods .)) }}
{{- end }}
{{- toYaml $found }}
{{- end }}

{{- define "hone.pod.metadata" -}}
{{- $choices := include "hone.pod.choices" . | fromYaml }}
{{- $annotations := $choices.annotations | default dict }}
{{- with get (get .root.Values .kind | default dict) "appArmor" }}
{{- $_ := set $annotations (printf "container.apparmor.security.beta.kubernetes.io/%s" $.kind) . }}
{{- end }}
{{- with $annotations }}
annotations: {{ toJson . }}
{{- end }}
labels:
  {{- include "hone.selector" . | nindent 2 }}
  {{- range $name, $value := $choices.labels }}
  {{ $name }}: {{ $value | quote }}
  {{- end }}
{{- end }}

{{- define "hone.pod.place" -}}
{{- $choices := include "hone.pod.choices" . | fromYaml }}
{{- range $name := list "serviceAccountName" "priorityClassName" "runtimeClassName" "nodeSelector" "tolerations" "affinity" }}
{{- with get $choices $name }}
{{ $name }}: {{ toJson . }}
{{- end }}
{{- end }}
topologySpreadConstraints:
  {{- if $choices.topologySpreadConstraints }}
  {{- toYaml $choices.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {{ include "hone.selector" . | fromYaml | toJson }}}
  {{- end }}
{{- end }}

{{- define "hone.trust.mount" -}}
{{- if or .Values.trust.configMap .Values.trust.secret -}}
- {name: trust, mountPath: /etc/hone/trust, readOnly: true}
{{- end }}
{{- end }}

{{- define "hone.trust.volume" -}}
{{- if .Values.trust.configMap -}}
- {name: trust, configMap: {name: {{ .Values.trust.configMap }}}}
{{- else if .Values.trust.secret -}}
- {name: trust, secret: {secretName: {{ .Values.trust.secret }}, items: [{key: {{ .Values.trust.key }}, path: {{ .Values.trust.key }}}], defaultMode: 0440}}
{{- end }}
{{- end }}

{{- /* The operator's file of worlds, which the simulation service reads as it starts. */}}
{{- define "hone.worlds.volume" -}}
{{- $worlds := get (get .root.Values .kind) "worlds" | default dict }}
{{- if $worlds.configMap -}}
- {name: worlds, configMap: {name: {{ $worlds.configMap }}}}
{{- else if $worlds.secret -}}
- {name: worlds, secret: {secretName: {{ $worlds.secret }}, items: [{key: {{ $worlds.key }}, path: {{ $worlds.key }}}], defaultMode: 0440}}
{{- end }}
{{- end }}

{{- define "hone.pod.image" -}}
{{- if ne .fact.image "engine" }}{{ .fact.image }}{{ else }}{{ .root.Values.inference.engine }}{{ end }}
{{- end }}

{{- define "hone.pod.command" -}}
{{- $trainer := .root.Values.trainer }}
{{- if and (eq .kind "trainer") (gt (int $trainer.nodes) 1) -}}
["python", "-m", "torch.distributed.run", "--nnodes", "$(LWS_GROUP_SIZE)", "--node-rank", "$(LWS_WORKER_INDEX)", "--nproc-per-node", {{ include "hone.trainer.ranks" .root | quote }}, "--max-restarts", "0", "--rdzv-backend", "static", "--shutdown-timeout", "4", "--master-addr", "$(LWS_LEADER_ADDRESS)", "--master-port", "29400", "-m", "hone.stack.container", "run", "trainer"]
{{- else -}}
["python", "-m", "hone.stack.container", "run", {{ .kind | quote }}]
{{- end }}
{{- end }}

{{- define "hone.trainer.ranks" -}}
{{- if gt (int .Values.trainer.gpus) 0 }}{{ .Values.trainer.gpus }}{{ else }}{{ .Values.trainer.ranks }}{{ end }}
{{- end }}

{{- define "hone.pod.resources" -}}
{{- $values := get .root.Values .kind }}
{{- $resources := deepCopy $values.resources }}
{{- if gt (int (get $values "gpus")) 0 }}
{{- $_ := set $resources "limits" (set ($resources.limits | default dict) .root.Values.gpuResource (int $values.gpus)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{- define "hone.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Inside the container for the door, which speaks TLS, and for workers, which nobody calls: they prove by their row in the
database that they are alive. */}}
{{- define "hone.probes" -}}
{{- $ask := dict "exec" (dict "command" (list "python" "-m" "hone.stack.container" "probe" .kind)) }}
{{- if eq .fact.probe "grpc" }}{{ $ask = dict "grpc" (dict "port" .fact.port) }}{{ end }}
{{- if eq .fact.probe "http" }}{{ $ask = dict "httpGet" (dict "path" "/healthz" "port" .kind) }}{{ end }}
{{- $slow := eq .fact.probe "exec" }}
startupProbe:
  {{- toYaml $ask | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: {{ ternary 15 5 $slow }}
  failureThreshold: 120
readinessProbe:
  {{- toYaml $ask | nindent 2 }}
  periodSeconds: {{ ternary 30 10 $slow }}
  timeoutSeconds: {{ ternary 15 5 $slow }}
  failureThreshold: 3
livenessProbe:  # a worker also fails it while the database is away: it is started again after ten minutes of that
  {{- toYaml $ask | nindent 2 }}
  periodSeconds: {{ ternary 60 15 $slow }}
  timeoutSeconds: {{ ternary 15 10 $slow }}
  failureThreshold: {{ ternary 10 8 $slow }}
{{- end }}
