#!/bin/bash
# effbatch: target="1024 sequences"
#SBATCH --nodes=8
#SBATCH --gpus-per-node=8

GPUS_PER_NODE=8
SEQUENCE=4096

BATCH_ARGS=(
    --micro-batch-size 2
    --global-batch-size 1024
    --seq-length $SEQUENCE
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size 4
    --pipeline-model-parallel-size "${PP:-2}"
)

srun torchrun --nnodes "$SLURM_NNODES" --nproc_per_node "$GPUS_PER_NODE" pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 100000 \
    "${BATCH_ARGS[@]}" "${PARALLEL_ARGS[@]}"
