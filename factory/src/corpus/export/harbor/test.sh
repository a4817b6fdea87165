#!/bin/sh
# {canary}
set -eu
exec python3 /tests/reward.py /app/submission.csv /logs/verifier/reward.json
