#!/bin/bash
# EPOCHS: passes over the demonstrations; without it, what `rl sft` takes by default.
set -euo pipefail

rl sft --world "$DATA_PATH" --model "$MODEL_PATH" --out "$OUTPUT_DIR/sft" --seed "$SEED" \
    ${EPOCHS:+--epochs "$EPOCHS"}
checkpoint=$(printf '%s\n' "$OUTPUT_DIR"/sft/checkpoints/step-* | sort | tail -n 1)
posttrain submit "$checkpoint" --wait --note "SFT on demonstrations"
