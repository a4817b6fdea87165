#!/bin/bash
set -euo pipefail

mkdir -p "$OUTPUT_DIR/copy"
# A base may lie beside the state of a trainer, which is no part of a model.
cp "$MODEL_PATH"/*.json "$MODEL_PATH"/*.safetensors "$OUTPUT_DIR/copy/"
posttrain submit output/copy --wait --note "the base"
