#!/bin/bash
# EPOCHS: passes over the demonstrations; without it, what `rl sft` takes by default.
set -euo pipefail
# Also in $(…).
shopt -s inherit_errexit

# Fine-tunes the model $2 on the task in $1, in the folder $3, and prints the last checkpoint.
train() {
    rl sft --world "$1" --model "$2" --out "$3" --seed "$SEED" ${EPOCHS:+--epochs "$EPOCHS"} >&2
    printf '%s\n' "$3"/checkpoints/step-* | sort | tail -n 1
}

if [ "$MODE" = multi ]; then
    # One task after another, from the same model on.
    checkpoint=$MODEL_PATH
    for task in "$DATA_PATH"/*/; do
        checkpoint=$(train "$task" "$checkpoint" "$OUTPUT_DIR/sft-$(basename "$task")")
    done
else
    checkpoint=$(train "$DATA_PATH" "$MODEL_PATH" "$OUTPUT_DIR/sft")
fi
posttrain submit "$checkpoint" --wait --note "SFT on demonstrations"
