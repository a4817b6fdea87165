#!/bin/sh
# {canary}
set -eu
cd /app
exec python3 /solution/solve.py
