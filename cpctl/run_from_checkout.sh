#!/bin/sh
# Runs the cpctl of a checkout, from any folder: `make up` installs this as .venv/bin/cpctl.
root=$(cd "$(dirname "$0")/../.." && pwd) || exit
exec "$root/.venv/bin/python" -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from cpctl.main import main; main()' "$root" "$@"
