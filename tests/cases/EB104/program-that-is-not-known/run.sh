#!/bin/bash
# effbatch: target=128
torchrun --nproc_per_node 8 train.py --per_device_train_batchsize 4 --bf16
