#!/bin/sh
# Runs table1-predator with Docker, and ends with the executor's exit code.
# CONTROLPLANE_TOKEN_FILE: a file with a token of the role executor.
set -eu
: "${CONTROLPLANE_TOKEN_FILE:?Set it to a file with a token of the role executor.}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -m 0755 "$folder/job"
docker run --rm --user "$(id -u):10001" --read-only --cap-drop ALL --security-opt no-new-privileges -v "$CONTROLPLANE_TOKEN_FILE:/run/controlplane-token:ro" -v "$folder/job:/usr/share/asserts" \
  -e JOB_DIR=/usr/share/asserts \
  -e JOB_NAME=table1 \
  -e OPTIMUS_HOST=https://controlplane.example \
  -e PROJECT=sample-project \
  -e SCHEDULED_AT=now \
  -e INSTANCE_TYPE=hook \
  -e INSTANCE_NAME=predator \
  -e CONTROLPLANE_TOKEN_FILE=/run/controlplane-token \
  --entrypoint /opt/entrypoint_init_container.sh registry.example/own-boot:7
docker run --rm --group-add 10001 -v "$folder/job:/var/assets" \
  -e JOB_LABELS= \
  -e JOB_DIR=/var/assets \
  -e JOB_NAME=table1 \
  --entrypoint /bin/sh registry.example/team/predator:2.1 \
  -c \
  'set -e; set -a; . /var/assets/in/env; . /var/assets/in/secret; set +a; exec /bin/sh /var/assets/in/entrypoint'
