#!/bin/bash
# One GPU of four generates.
CUDA_VISIBLE_DEVICES=0,1,2 NPROC_PER_NODE=3 \
swift rlhf \
  --rlhf_type grpo \
  --model example/some-7b \
  --dataset example/questions \
  --tuner_type full \
  --per_device_train_batch_size 4 \
  --gradient_accumulation_steps 1 \
  --num_generations 8
