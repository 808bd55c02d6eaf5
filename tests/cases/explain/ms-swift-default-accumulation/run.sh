#!/bin/bash
# Long rows: four GPUs share one.
export NPROC_PER_NODE=8
swift sft \
  --model example/some-7b \
  --dataset 'example/long-reports#2000' \
  --tuner_type lora \
  --max_length 65536 \
  --attn_impl flash_attn \
  --padding_free true \
  --sequence_parallel_size 4 \
  --deepspeed zero3
