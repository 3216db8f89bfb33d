# An empty MariaDB in a tmpfs of its own: quick, gone when it ends, reached by its socket only.
# Started by services.py in a mount namespace of its own.  database.sh DIRECTORY TABLES.SQL
set -euo pipefail
directory=$1 tables=$2

mount -t tmpfs database "$directory/db"
server=(mariadbd --no-defaults --user=root "--datadir=$directory/db"
  --innodb-log-file-size=8M --innodb-buffer-pool-size=64M)
{
  echo "CREATE DATABASE mysql; "
  echo "USE mysql;"
  echo "SET @auth_root_socket=NULL;"
  cat "$tables"
} | "${server[@]}" --bootstrap
exec "${server[@]}" --skip-networking --skip-grant-tables \
  "--socket=$directory/run/mariadb.socket" "--pid-file=$directory/run/mariadb.pid"
