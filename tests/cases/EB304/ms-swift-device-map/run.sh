#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1,2,3 \
swift sft \
  --model example/some-7b \
  --dataset example/reports \
  --tuner_type full \
  --per_device_train_batch_size 1 \
  --gradient_accumulation_steps 4 \
  --deepspeed zero2
