#!/bin/sh
# Writes the input of a job's run to $JOB_DIR/in, for the executor beside it. Needs sh, tar, and curl or wget; with
# Python beside it, boot.py does the same. docs/guides/executor-boot.md describes the variables.
set -eu
umask 022

fail() { echo "boot: $1" >&2; exit 1; }
need() { eval "[ -n \"\${$1:-}\" ]" || fail "The variable $1 is not set. Set it in the pod's init container."; }

here=$(dirname "$0")
if [ "${BOOT_WITHOUT_PYTHON:-}" = "" ] && [ -f "$here/boot.py" ] && command -v python3 >/dev/null 2>&1; then
    exec python3 "$here/boot.py"
fi

host=${CONTROLPLANE_HOST:-${OPTIMUS_HOST:-}}
[ -n "$host" ] || fail "The variable CONTROLPLANE_HOST is not set. Set it to the address of the server."
for name in JOB_DIR JOB_NAME PROJECT SCHEDULED_AT INSTANCE_TYPE INSTANCE_NAME; do need "$name"; done
command -v tar >/dev/null 2>&1 || fail "The init image has no tar. Choose another init image."
case "$host" in http://* | https://*) ;; *) host="https://$host" ;; esac
address="${host%/}/api/v1/jobs/$PROJECT/$JOB_NAME"

scratch="$JOB_DIR/.boot-$$"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 143' HUP INT TERM
rm -rf "$JOB_DIR"/.boot-*
# Nobody else looks into it: the bundle and tokens are in it.
mkdir -m 0700 "$scratch"
mkdir "$scratch/new"

# A text between the quotes of JSON.
json() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }

# Tokens are in files and not in arguments, which other processes could read. wget alone takes a header as one.
: >"$scratch/headers"
send() { # path, body, file of the answer, accepted media type
    printf '%s' "$2" >"$scratch/body"
    if command -v curl >/dev/null 2>&1; then
        curl -sS --max-time 60 -o "$3" -w '%{http_code}' -X POST -H "@$scratch/headers" -H "Accept: $4" \
            -H "Content-Type: ${5:-application/json}" --data-binary "@$scratch/body" "$1" 2>"$scratch/error" || echo 000
    else
        header=$(cat "$scratch/headers")
        wget -q -T 60 -O "$3" --header "$header" --header "Accept: $4" --header "Content-Type: ${5:-application/json}" \
            --post-file "$scratch/body" "$1" 2>"$scratch/error" && echo 200 || echo 000
    fi
}
# The detail of a problem document, so that the log says what is wrong. It never has values.
detail() { sed -n 's/.*"detail":"\([^"]*\)".*/\1/p' "$1" 2>/dev/null | head -n 1; }
ask() { # what it does, then as for `send`
    what=$1
    shift
    attempt=0
    while :; do
        status=$(send "$@")
        case "$status" in 2??) return 0 ;; esac
        attempt=$((attempt + 1))
        case "$status" in 000 | 429 | 5??) ;; *) break ;; esac
        [ "$attempt" -le 3 ] || break
        sleep $((1 << (attempt - 1)))
    done
    case "$status" in
        401) fail "$what: the token is not accepted. Check CONTROLPLANE_TOKEN_FILE, or the issuer's rule." ;;
        403) fail "$what: the token may not do this. Bind the role executor to the project $PROJECT." ;;
    esac
    fail "$what: status $status. $(detail "$3")"
}

if [ -n "${CONTROLPLANE_IDENTITY_TOKEN_FILE:-}" ]; then
    [ -r "$CONTROLPLANE_IDENTITY_TOKEN_FILE" ] || fail "CONTROLPLANE_IDENTITY_TOKEN_FILE cannot be read."
    form="grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
    form="$form&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt"
    form="$form&subject_token=$(cat "$CONTROLPLANE_IDENTITY_TOKEN_FILE")"
    echo "X-Boot: exchange" >"$scratch/headers"
    ask "Exchanging the pod's token" "${host%/}/oauth2/token" "$form" "$scratch/token" application/json \
        application/x-www-form-urlencoded
    token=$(sed -n 's/.*"access_token": *"\([^"]*\)".*/\1/p' "$scratch/token")
    rm -f "$scratch/token"
else
    need CONTROLPLANE_TOKEN_FILE
    [ -r "$CONTROLPLANE_TOKEN_FILE" ] || fail "CONTROLPLANE_TOKEN_FILE cannot be read."
    token=$(cat "$CONTROLPLANE_TOKEN_FILE")
fi
printf 'Authorization: Bearer %s\n' "$token" >"$scratch/headers"

time=$(json "$SCHEDULED_AT")
run="{\"scheduled_at\":\"$time\",\"external_id\":\"$(json "${DAG_RUN_ID:-}")\"}"
ask "Creating the run" "$address/runs" "$run" "$scratch/run" application/json
instance="\"instance_type\":\"$(json "$INSTANCE_TYPE")\",\"instance_name\":\"$(json "$INSTANCE_NAME")\""
input="{\"scheduled_at\":\"$time\",$instance}"
ask "Reading the input" "$address:run-input" "$input" "$scratch/bundle" application/x-tar
rm -f "$scratch/headers"

# Regular files and folders below in/ alone: the server is trusted, and its answer is checked all the same.
tar -tvf "$scratch/bundle" >"$scratch/entries" || fail "The server's answer is no tar archive."
if grep -qv '^[-d]' "$scratch/entries"; then fail "The archive has an entry that is neither file nor folder."; fi
tar -tf "$scratch/bundle" >"$scratch/names"
if grep -qEv '^in(/|$)' "$scratch/names" || grep -qE '(^|/)\.\.(/|$)' "$scratch/names"; then
    fail "The archive has a file outside of its folder."
fi
tar -xf "$scratch/bundle" -C "$scratch/new" -m -o 2>"$scratch/error" || tar -xf "$scratch/bundle" -C "$scratch/new" -m
chmod 0440 "$scratch/new/in/secret"
if [ "${BOOT_CHECK_VALUES:-1}" = 1 ] && grep -q '<no value>' "$scratch/new/in/env" "$scratch/new/in/secret"; then
    names=$(grep -h '<no value>' "$scratch/new/in/env" "$scratch/new/in/secret" | sed 's/=.*//' | tr '\n' ' ')
    fail "These variables have no value: ${names}Set what their templates read, or correct the templates."
fi
# Not atomic where in/ exists, so that an old one is moved away first; the executor starts after this program.
if [ -e "$JOB_DIR/in" ]; then mv "$JOB_DIR/in" "$scratch/old"; fi
mv "$scratch/new/in" "$JOB_DIR/in"
echo "boot: $(wc -l <"$scratch/names") entries are in $JOB_DIR/in"
