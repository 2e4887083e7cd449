#!/bin/sh
# Runs table1-bq2bq with Docker, and ends with the executor's exit code.
# CONTROLPLANE_TOKEN_FILE: a file with a token of the role executor.
set -eu
: "${CONTROLPLANE_TOKEN_FILE:?Set it to a file with a token of the role executor.}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -m 0755 "$folder/job"
docker run --rm --user "$(id -u):10001" --read-only --cap-drop ALL --security-opt no-new-privileges -v "$CONTROLPLANE_TOKEN_FILE:/run/controlplane-token:ro" -v "$folder/job:/data" \
  -e JOB_DIR=/data \
  -e JOB_NAME=sample-project.playground.table1 \
  -e OPTIMUS_HOST=https://controlplane.example \
  -e PROJECT=sample-project \
  -e 'SCHEDULED_AT={{ next_execution_date }}' \
  -e INSTANCE_TYPE=task \
  -e INSTANCE_NAME=bq2bq \
  -e 'DAG_RUN_ID={{ run_id }}' \
  -e CONTROLPLANE_TOKEN_FILE=/run/controlplane-token \
  --entrypoint /opt/entrypoint_init_container.sh registry.example/controlplane-boot:0.1.0
docker run --rm --group-add 10001 -v "$folder/job:/data" \
  -e JOB_LABELS=job_name=table1,orchestrator=optimus \
  -e JOB_DIR=/data \
  -e JOB_NAME=sample-project.playground.table1 \
  --entrypoint /bin/bash registry.example/team/bq2bq:1.0 \
  -c \
  'set -e; set -a; . /data/in/env; . /data/in/secret; set +a; exec /bin/bash /data/in/entrypoint'
