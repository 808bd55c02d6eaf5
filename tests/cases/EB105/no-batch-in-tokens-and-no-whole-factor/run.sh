#!/bin/bash
# effbatch: target=200
torchrun --nnodes=2 --nproc-per-node=8 train_1b.py train run01 \
  --sequence-length=4096 \
  --data_loader.global_batch_size=1048576 \
  --train_module.rank_microbatch_size=8192
