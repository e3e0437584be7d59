set -eu
chmod 700 "$PGDATA"
if ! test -f "$PGDATA/PG_VERSION"; then
  umask 077
  initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 -E UTF8 --locale=C
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  echo "local all all trust" > /tmp/hba && cat "$PGDATA/pg_hba.conf" >> /tmp/hba && cat /tmp/hba > "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -w -o "-c listen_addresses=''" start
  createdb -h /var/run/postgresql -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -D "$PGDATA" -w -m fast stop
fi
exec "$@" -c listen_addresses='*'
