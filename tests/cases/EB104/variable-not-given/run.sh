# effbatch: target=512
torchrun --nproc_per_node 8 train.py --output_dir out \
    --per_device_train_batch_size "$BATCH" --gradient_accumulation_steps 4
