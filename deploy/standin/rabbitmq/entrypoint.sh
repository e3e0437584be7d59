set -eu
printf 'default_user = %s\ndefault_pass = %s\nloopback_users = none\n' "$RABBITMQ_DEFAULT_USER" "$RABBITMQ_DEFAULT_PASS" \
  > "$RABBITMQ_CONFIG_FILE"
exec /usr/lib/rabbitmq/bin/rabbitmq-server
