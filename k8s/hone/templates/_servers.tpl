{{- /* What the chart knows of the bundled servers. A directory of `scratch` is in memory or on the node's disk. */}}
{{- define "hone.servers" -}}
postgres:
  port: 5432
  user: 999
  environment: {POSTGRES_USER: hone_owner, POSTGRES_DB: hone, PGDATA: /var/lib/postgresql/data/pgdata}
  secrets: {POSTGRES_PASSWORD: POSTGRES_PASSWORD}
  args: ["-c", "max_connections=400", "-c", "timezone=UTC"]
  data: /var/lib/postgresql/data
  scratch: [/tmp, /var/run/postgresql, /dev/shm]  # parallel queries share more than the 64 MB of a pod
  ready: {exec: {command: [pg_isready, -q, -h, 127.0.0.1, -U, hone_owner, -d, hone]}}
  resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {memory: 2Gi}}
rabbitmq:
  port: 5672
  user: 999
  environment: {RABBITMQ_DEFAULT_USER: hone}
  secrets: {RABBITMQ_DEFAULT_PASS: RABBITMQ_PASSWORD}
  args: []
  data: /var/lib/rabbitmq
  scratch: [/tmp, /var/log/rabbitmq]
  ready: {exec: {command: [rabbitmq-diagnostics, -q, check_port_connectivity]}}
  resources: {requests: {cpu: 250m, memory: 384Mi}, limits: {memory: 1Gi}}
objects:
  port: 9000
  user: 10001
  environment: {MINIO_ROOT_USER: hone, MINIO_BROWSER: "off", MINIO_UPDATE: "off", HOME: /tmp, MC_CONFIG_DIR: /tmp/.mc}
  secrets: {MINIO_ROOT_PASSWORD: OBJECTS_PASSWORD}
  args: [server, /data]
  data: /data
  scratch: [/tmp]
  ready: {httpGet: {path: /minio/health/live, port: objects}}
  resources: {requests: {cpu: 250m, memory: 512Mi}, limits: {memory: 2Gi}}
{{- end }}
