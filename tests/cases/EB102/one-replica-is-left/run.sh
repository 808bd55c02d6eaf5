# effbatch: target=8
torchrun --nproc_per_node=8 train.py --config-name video model_parallel.context_parallel_size=8
