#!/usr/bin/env bash
# What a worse person is worth: the base policy of the guidance study on its training tasks, alone and with
# scripted people who advise later, miss chances or give bad advice. Every stage resumes.
#
#   scripts/person_study.sh [--study FOLDER] [--bin FOLDER] [--attempts N] [--seed N]
#
# FOLDER is that of `scripts/guidance_study.sh`, with its tasks, its base policy and its person. The plan is
# in docs/STUDY.md.
set -euo pipefail
cd "$(dirname "$0")/.."
study=generated/guidance-study bin=target/release attempts=4 seed=0
while (($#)); do
  (($# > 1)) || { printf 'error: `%s` needs a value\n' "$1" >&2 && exit 2; }
  case $1 in
    --study) study=$2 ;;
    --bin) bin=$2 ;;
    --attempts) attempts=$2 ;;
    --seed) seed=$2 ;;
    *) printf 'error: `%s` is unknown; see the head of this file\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
[[ -d $study/base && -f $study/ann.toml ]] || {
  printf 'error: `%s` has no base policy and no person; run scripts/guidance_study.sh first\n' "$study" >&2
  exit 2
}
out=$study/people
mkdir -p "$out"

# What the person says wrongly, in wordings that the policy follows: it knows these scripts by itself.
misleads='misleads = [
  "Use a linear model.",
  "Few rows: fit a line.",
  "Try ridge or logistic regression.",
  "A simple linear fit is enough.",
]'
declare -A people=(
  [exact]=''
  [later-1]='latency_turns = 1'
  [later-2]='latency_turns = 2'
  [misses-half]='miss = 0.5'
  [wrong-fifth]="wrong = 0.2
$misleads"
  [wrong-half]="wrong = 0.5
$misleads"
)
play=(eval --policy "base=$study/base" --tasks "$study/tasks" --split train --attempts "$attempts" --seed "$seed")
"$bin/rl" "${play[@]}" --out "$out/alone"
for person in exact later-1 later-2 misses-half wrong-fifth wrong-half; do
  # The rules of the study's person, with what this one does worse.
  { printf '%s\n' "${people[$person]}" && cat "$study/ann.toml"; } >"$out/$person.toml"
  "$bin/rl" "${play[@]}" --person "$out/$person.toml" --out "$out/$person"
done
scripts/person_study.py "$out"
