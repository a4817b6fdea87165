#!/bin/bash
# EPOCHS: passes over the demonstrations; without it, what `rl sft` takes by default.
# UPDATES: updates between two submissions; 5 without it.
set -euo pipefail

newest() {
    printf '%s\n' "$1"/checkpoints/step-* | sort | tail -n 1
}

echo "Rollouts, reward and gradient close their loop in \`rl train\`, called by start.sh." \
    > "$WORKSPACE/reports/summary.md"

rl sft --world "$DATA_PATH" --model "$MODEL_PATH" --out "$OUTPUT_DIR/sft" --seed "$SEED" \
    ${EPOCHS:+--epochs "$EPOCHS"}
posttrain submit "$(newest "$OUTPUT_DIR/sft")" --wait --note "SFT on demonstrations"

updates=0
while [ "$(timer --seconds)" -gt 0 ]; do
    updates=$((updates + ${UPDATES:-5}))
    # The same run goes on with more updates. The server scores it, so that it does not validate.
    rl train --world "$DATA_PATH" --model "$OUTPUT_DIR/sft" --out "$OUTPUT_DIR/grpo" \
        --steps "$updates" --set validate_every=0 --seed "$SEED"
    posttrain submit "$(newest "$OUTPUT_DIR/grpo")" --wait --note "GRPO, $updates updates"
done
