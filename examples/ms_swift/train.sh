#!/usr/bin/env bash
# GRPO with ms-swift and a rubric reward: bash train.sh MODEL OUT [more options of swift rlhf]
# The options are the paper's, if ms-swift has them; add those for your machine (vLLM, DeepSpeed, …) at the end.
set -euo pipefail
here=$(dirname "$0")
model=$1 out=$2
shift 2
mkdir -p "$out"
python "$here/make_rows.py" "$out/rows.jsonl"
swift rlhf --rlhf_type grpo --model "$model" --dataset "$out/rows.jsonl" --output_dir "$out" \
    --external_plugins "$here/plugin.py" --reward_funcs prorubric \
    --tuner_type full --enable_thinking false \
    --num_generations 8 --temperature 1.0 --top_p 1.0 --top_k 0 \
    --epsilon 0.2 --epsilon_high 0.28 --beta 0 --scale_rewards group --loss_type dapo \
    --learning_rate 1e-6 --lr_scheduler_type constant_with_warmup --warmup_steps 10 \
    --max_length 4096 --truncation_strategy delete --max_completion_length 8192 --seed 42 "$@"
