set -eu
chown -R rabbitmq:rabbitmq /var/lib/rabbitmq
printf 'default_user = %s\ndefault_pass = %s\nloopback_users = none\n' "$RABBITMQ_DEFAULT_USER" "$RABBITMQ_DEFAULT_PASS" \
  > /etc/rabbitmq/rabbitmq.conf
exec rabbitmq-server
