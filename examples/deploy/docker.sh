#!/usr/bin/env bash
# Two servers of a fleet as containers on one machine, for a trial. Prints their addresses as a list.
#
#   SANDBOX_TOKEN=$(openssl rand -hex 16) examples/deploy/docker.sh generated/demo [podman]
set -euo pipefail
cd "$(dirname "$0")/../.."

tasks=$(realpath "${1:?name the folder of tasks}")
engine=${2:-docker}
: "${SANDBOX_TOKEN:?set a token of at least 16 characters, as with \`openssl rand -hex 16\`}"
export SANDBOX_TOKEN
for port in 8765 8766; do
  # Scripts are held in namespaces. The default filters of container engines forbid to make them,
  # and the paths that they mask in /proc forbid the jail a /proc of its own.
  "$engine" run --detach --name "sandbox-$port" --stop-timeout 1500 \
    --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
    --security-opt systempaths=unconfined --security-opt no-new-privileges \
    --cap-drop ALL --memory 16g --pids-limit 4096 \
    --env SANDBOX_TOKEN --publish "127.0.0.1:$port:8765" \
    --volume "$tasks:/srv/tasks:ro" \
    --volume "$(pwd)/examples/deploy/serve.sh:/usr/local/bin/serve.sh:ro" \
    mle-agents serve.sh /srv/tasks --listen 0.0.0.0:8765 --records /var/lib/sandbox
done >&2
echo "http://agent:$SANDBOX_TOKEN@127.0.0.1:8765,http://agent:$SANDBOX_TOKEN@127.0.0.1:8766"
