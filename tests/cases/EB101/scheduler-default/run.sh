#!/bin/bash
# effbatch: target=512
NNODES=${SLURM_NNODES:-1}
torchrun --nproc_per_node 8 --nnodes $NNODES train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --model_name_or_path m --output_dir o
