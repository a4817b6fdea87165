#!/bin/bash
# Every submission is refused, with a reason; none is a score.
set -uo pipefail

mkdir -p "$OUTPUT_DIR/without-weights" "$OUTPUT_DIR/pickle"
cp "$MODEL_PATH/config.json" "$OUTPUT_DIR/without-weights/"
cp "$MODEL_PATH/config.json" "$OUTPUT_DIR/pickle/"
echo "not weights" > "$OUTPUT_DIR/pickle/pytorch_model.bin"

for model in output/nothing output/without-weights output/pickle output/../models; do
    posttrain submit "$model" --wait && exit 1
done
exit 0
