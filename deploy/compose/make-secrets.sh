#!/bin/sh
# Make the secrets that docker-compose.yml mounts, each once: what exists stays as it is.
#
# The folder is closed to other users. The files in it are readable, because containers read them as
# users of their own, and reach them without passing through the folder.
set -eu
umask 077
folder="$(dirname "$0")/secrets"
mkdir -p "$folder"
chmod 700 "$folder"

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

keep() { # name: keeps what comes by standard input, unless the secret exists
    if [ -s "$folder/$1" ]; then
        cat > /dev/null
    else
        cat > "$folder/$1"
        chmod 444 "$folder/$1"
        echo "made $1"
    fi
}

value() { cat "$folder/$1"; }

random | keep secret_key
# The key that encrypts stored secrets. Back it up apart from the database: without it, they are lost.
printf 'first:%s\n' "$(head -c 32 /dev/urandom | base64)" | keep secrets_keys
random | keep postgres_password
random | keep valkey_password
random | keep nats_password
printf 'postgresql://controlplane:%s@postgres:5432/controlplane' "$(value postgres_password)" | keep database_url
# Web, worker and migrator have roles of their own; database_url is the superuser who creates those.
for role in migrator web worker; do
    random | keep "postgres_password_$role"
    printf 'postgresql://controlplane_%s:%s@postgres:5432/controlplane' "$role" "$(value "postgres_password_$role")" \
        | keep "database_url_$role"
done
printf 'redis://:%s@valkey:6379/0' "$(value valkey_password)" | keep redis_url
printf 'nats://controlplane:%s@nats:4222' "$(value nats_password)" | keep nats_url
# Signs logins of agents at NATS (manage.py nats_config).
random | keep nats_issuer_seed
# Former keys, while one is replaced; empty at first (docs/operations.md).
[ -e "$folder/secret_key_fallbacks" ] || { : > "$folder/secret_key_fallbacks"; chmod 444 "$folder/secret_key_fallbacks"; }
