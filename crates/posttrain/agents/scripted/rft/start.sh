#!/bin/bash
# ROUNDS: rounds of playing and imitating, at most; 4 without it.
set -euo pipefail

model=$MODEL_PATH
for round in $(seq "${ROUNDS:-4}"); do
    episodes="$OUTPUT_DIR/rft/episodes-$round"
    rl eval --world "$DATA_PATH" --part train --policy "policy=$model" --out "$episodes" \
        --seed "$SEED"
    # One episode an item, and of those the ones that were won.
    rl sft --world "$DATA_PATH" --episodes "$episodes" --set best_of=1 --model "$model" \
        --out "$OUTPUT_DIR/rft/sft-$round" --seed "$SEED"
    model=$(printf '%s\n' "$OUTPUT_DIR/rft/sft-$round"/checkpoints/step-* | sort | tail -n 1)
    posttrain submit "$model" --wait --note "RFT, round $round"
done
