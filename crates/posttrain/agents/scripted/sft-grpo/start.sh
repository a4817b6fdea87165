#!/bin/bash
# EPOCHS: passes over the demonstrations; without it, what `rl sft` takes by default. SFT is stopped at half
# of the time.
# UPDATES: updates before the first submission of GRPO, 5 without it; later ones are further apart where
# updates are quick.
set -euo pipefail

# Runs a command for at most $1 seconds. `rl` ends then with its last update saved; a signal to the whole group
# would reach it twice, and end it at once.
within() {
    local status=0
    timeout --foreground --signal=INT "$(($1 > 0 ? $1 : 1))" "${@:2}" || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 124 ]
}

# Submits the newest checkpoint in the folder $1, if it is another one than before.
submitted=
submit() {
    local newest
    newest=$(printf '%s\n' "$1"/checkpoints/step-* | sort | tail -n 1)
    [ -d "$newest" ] && [ "$newest" != "$submitted" ] || return 0
    posttrain submit "$newest" --wait --note "$2"
    submitted=$newest
}

echo "Rollouts, reward and gradient close their loop in \`rl train\`, called by start.sh." \
    > "$WORKSPACE/reports/summary.md"

budget=$(timer --seconds)
# For the update that is going on when a training is stopped, and to submit it.
reserve=$((budget / 20))

within $((budget / 2)) rl sft --world "$DATA_PATH" --model "$MODEL_PATH" --out "$OUTPUT_DIR/sft" \
    --seed "$SEED" ${EPOCHS:+--epochs "$EPOCHS"}
submit "$OUTPUT_DIR/sft" "SFT on demonstrations"

updates=0
between=${UPDATES:-5}
while left=$(timer --seconds) && [ "$left" -gt "$reserve" ]; do
    updates=$((updates + between))
    # The same run goes on with more updates. The server scores it, so that it does not validate.
    within $((left - reserve)) rl train --world "$DATA_PATH" --model "$OUTPUT_DIR/sft" \
        --out "$OUTPUT_DIR/grpo" --steps "$updates" --set validate_every=0 --seed "$SEED"
    submit "$OUTPUT_DIR/grpo" "GRPO, up to $updates updates"
    # Some twenty submissions in all: grading may take a part of the time only.
    if [ $((left - $(timer --seconds))) -lt $((budget / 20)) ]; then
        between=$((between * 2))
    fi
done
