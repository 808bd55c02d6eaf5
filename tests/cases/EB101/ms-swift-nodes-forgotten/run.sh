#!/bin/bash
# effbatch: target=128
export NNODES=2
export NPROC_PER_NODE=8
swift sft \
  --model example/some-7b \
  --dataset example/reports \
  --tuner_type full \
  --deepspeed zero3 \
  --per_device_train_batch_size 1 \
  --gradient_accumulation_steps $((128 / NPROC_PER_NODE))
