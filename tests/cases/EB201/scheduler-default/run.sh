#!/bin/bash
NNODES=${SLURM_NNODES:-1}
torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 512 --num-layers 32 --seq-length 4096 --max-position-embeddings 4096 --hidden-size 512 --num-attention-heads 16
