#!/usr/bin/env bash
# Starts one server of a fleet, with the flags that a trainer's rules ask for. Every server of a fleet
# is started like this; what differs is where it listens and where it writes.
#
#   SANDBOX_TOKEN=... examples/deploy/serve.sh TASKS [FLAG...]
#
# `--reveal score` lets the trainer, which owns the servers, compute rewards itself; policies never see
# the score. For clients that are not trusted, leave it out (docs/OPENENV.md).
set -euo pipefail

tasks=${1:?name the folder of tasks}
shift
exec sandbox serve "$tasks" \
  --reveal score \
  --step-limit 90s --answer-limit 180s --idle-limit 2h \
  --episodes-per-task 1000000000 \
  --drain-limit 20m \
  "$@"
