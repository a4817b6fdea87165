#!/usr/bin/env bash
# Checks a CUDA machine: parity with the CPU, the speed and memory of a large shape beside what the
# device could do at best, and a short run of the tiny policy. Needs our built binaries and a Python
# that has PyTorch, whose libtorch they use; neither Rust nor a network.
#
#   scripts/gpu_check.sh --bin target/release --out generated/gpu
#   scripts/gpu_check.sh --bin target/release --out generated/gpu --part decode
#   scripts/gpu_check.sh --bin target/release --out generated/cpu --small
#
# Every part leaves OUT/PART.json as it goes on, so one that is cut short keeps what it has, and ends
# by writing OUT/gpu_check.json and OUT/gpu_check.md from all parts that are there.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/gpu_check.sh --bin FOLDER --out FOLDER [options]

  --bin FOLDER     where `rl`, `sandbox` and `libjail.so` are, and `factory` unless
                   --tasks is given
  --out FOLDER     where results go
  --part PART      parity, decode, sft, grpo, train (sft and grpo) or tiny; may be repeated
                   [default: all]
  --device DEVICE  [default: cuda:0; cpu with --small]
  --shape NAME     the shape whose speed is measured [default: qwen3-8b; tiny with --small]
  --tasks FOLDER   a corpus for the run of the tiny policy [default: factory makes one]
  --small          the same on a CPU with small shapes, in about a minute
  --threads N      threads of libtorch

MLE_PYTHON names the Python to use [default: python3].
Exit codes: 0 if nothing is wrong, 1 if something is, 2 if it cannot be tried here.
USAGE
}

fail() { # fail MESSAGE: this cannot be tried here
  printf 'error: %s\n' "$*" >&2
  exit 2
}

bin='' out='' device='' shape='' tasks='' small='' parts=() options=()
while (($#)); do
  case $1 in
    --small) small=yes ;;
    -h | --help) usage && exit 0 ;;
    --bin | --out | --part | --device | --shape | --tasks | --threads)
      (($# > 1)) || fail "\`$1\` needs a value; see --help"
      case $1 in
        --bin) bin=$2 ;;
        --out) out=$2 ;;
        --part) parts+=("$2") ;;
        --device) device=$2 ;;
        --shape) shape=$2 ;;
        --tasks) tasks=$2 ;;
        --threads) options+=(--threads "$2") ;;
      esac
      shift
      ;;
    *) fail "\`$1\` is unknown; see --help" ;;
  esac
  shift
done
[[ $bin && $out ]] || fail "--bin and --out are needed; see --help"
device=${device:-${small:+cpu}}
device=${device:-cuda:0}
shape=${shape:-${small:+tiny}}
shape=${shape:-qwen3-8b}
((${#parts[@]})) || parts=(parity decode train tiny)
for part in "${parts[@]}"; do
  case $part in
    parity | decode | sft | grpo | train | tiny) ;;
    *) fail "there is no part \`$part\`; see --help" ;;
  esac
done

# What is there. The torch that is found is not imported: that takes seconds, and only its folder
# and version matter.
[[ -d $bin ]] || fail "there is no folder \`$bin\`"
bin=$(cd "$bin" && pwd)
[[ -x $bin/rl ]] || fail "\`$bin/rl\` is missing; build it with \`cargo build --release\`"
python=${MLE_PYTHON:-python3}
command -v "$python" >/dev/null || fail "there is no \`$python\`; set MLE_PYTHON"
found=$("$python" - <<'PY'
import importlib.util, pathlib, runpy
spec = importlib.util.find_spec("torch")
if spec and spec.origin:
    folder = pathlib.Path(spec.origin).parent
    version = runpy.run_path(str(folder / "version.py"))
    print(version["__version__"], version.get("cuda") or "none", folder / "lib", sep="\n")
PY
)
[[ $found ]] || fail "\`$python\` has no PyTorch; install torch 2.11.0 for it, or set MLE_PYTHON"
{ read -r version && read -r cuda && read -r lib; } <<<"$found"
[[ $version == 2.11.0* ]] || fail "\`$python\` has PyTorch $version; the binaries need 2.11.0"
if [[ $device == cuda* ]]; then
  [[ $cuda != none && -e $lib/libtorch_cuda.so ]] ||
    fail "PyTorch $version of \`$python\` is built without CUDA"
  if command -v nvidia-smi >/dev/null; then
    [[ $(nvidia-smi -L 2>/dev/null || true) == *GPU* ]] || fail "nvidia-smi sees no GPU"
  fi
fi
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Either would have f32 matrices multiplied in TF32.
unset TORCH_ALLOW_TF32_CUBLAS_OVERRIDE NVIDIA_TF32_OVERRIDE
"$bin/rl" --version >/dev/null || fail "\`$bin/rl\` does not start with the libtorch in \`$lib\`"
"$bin/rl" bench --case none --device "$device" >/dev/null || fail "\`$device\` cannot be used"
mkdir -p "$out"
out=$(cd "$out" && pwd)

wrong=0
bench() { # bench PART FLAG...: cases of `rl bench`
  local part=$1
  shift
  printf '\n== %s\n' "$part" >&2
  "$bin/rl" bench --device "$device" "${options[@]}" --json "$out/$part.json" "$@" \
    >/dev/null || wrong=1
}

# Results of the tiny run, in the format of `rl bench`.
results=''
result() { # result NAME ENDING-FIELDS
  results+=${results:+,}$(printf \
    '{"name":"%s","machine":{"device":"%s"},"ending":%s}' "$1" "$device" "$2")
  printf '{"version":1,"results":[%s]}\n' "$results" >"$out/tiny.json"
}

# run_tiny NAME FOLDER FLAG...: one command of `rl` on the tiny policy, and how long it took.
run_tiny() {
  local name=$1 folder=$2 began=$SECONDS
  shift 2
  printf '\n== %s\n' "$name" >&2
  if "$bin/rl" "$@" --tasks "$tasks" --out "$folder" --device "$device" "${options[@]}" \
    2>"$folder.log" >/dev/null; then
    result "$name" "\"measured\",\"value\":$((SECONDS - began)),\"unit\":\"s\""
    return 0
  fi
  tail -n 20 "$folder.log" >&2
  cp "$folder.log" "$out/tiny.log"
  result "$name" "\"broken\",\"reason\":\"tiny.log says how\""
  wrong=1
  return 1
}

tiny() {
  local gap sft train missing
  missing=$("$python" -c 'import importlib.util as u
print(" ".join(n for n in ("numpy", "pandas", "sklearn") if u.find_spec(n) is None))')
  if [[ $missing ]]; then
    printf '\n== tiny: not run, %s has no %s\n' "$python" "$missing" >&2
    result "tiny: SFT and GRPO" "\"not-run\",\"reason\":\"the Python lacks $missing\""
    return
  fi
  # Where tests are built, the library is one folder further down.
  [[ -x $bin/sandbox && (-e $bin/libjail.so || -e $bin/deps/libjail.so) ]] ||
    fail "\`sandbox\` or \`libjail.so\` is missing in \`$bin\`; build them too"
  MLE_PYTHON=$(command -v "$python")
  export MLE_PYTHON
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  if [[ ! $tasks ]]; then
    [[ -x $bin/factory ]] || fail "\`$bin/factory\` is missing; build it too, or give --tasks"
    tasks=$work/tasks
    "$bin/factory" generate --seeds mlebench --count 12 --modality tabular \
      --formulation binary,regression --out "$tasks" >&2
  fi
  # Enough for every kind of step to be made, and no more: what is learnt does not matter.
  sft=(--attempts 1 --epochs 4)
  train=(--steps 3 --tasks-per-step 8 --set validate_every=0)
  if [[ $small ]]; then
    sft=(--attempts 1 --epochs 1 --set vocab_size=500)
    train=(--steps 1 --tasks-per-step 2 --group-size 2 --set validate_every=0
      --set rollout.turn_tokens=32 --set rules.episode.budget.turns=2)
  fi
  run_tiny "tiny: SFT" "$work/sft" sft --model tiny "${sft[@]}" || return 0
  run_tiny "tiny: GRPO" "$work/grpo" train --model "$work/sft" "${train[@]}" || return 0
  # The run's own check of its first batch, whether or not that taught anything.
  gap=$(sed -n '/log_prob_gap=/{s/.*log_prob_gap=\([-0-9.e]*\).*/\1/p;q}' "$work/grpo.log")
  result "tiny: sampler against trainer, f32" \
    "\"compared\",\"checks\":[{\"name\":\"log-probabilities\",\"found\":${gap:-1e308},\"limit\":1e-4}]"
}

weights=(--shape "$shape" --random-weights)
for part in "${parts[@]}"; do
  case $part in
    parity) bench parity --case parity ;;
    decode) bench decode --case decode "${weights[@]}" ;;
    sft) bench sft --case sft --case sft-lora "${weights[@]}" ;;
    grpo) bench grpo --case grpo --case grpo-lora "${weights[@]}" ;;
    train)
      bench sft --case sft --case sft-lora "${weights[@]}"
      bench grpo --case grpo --case grpo-lora "${weights[@]}"
      ;;
    tiny) tiny ;;
  esac
done

printf '\n== all parts that are there\n' >&2
with=()
for part in parity decode sft grpo tiny; do
  [[ -e $out/$part.json ]] && with+=(--with "$out/$part.json")
done
"$bin/rl" bench --case none "${with[@]}" --json "$out/gpu_check.json" --table "$out/gpu_check.md" || wrong=1
exit "$wrong"
