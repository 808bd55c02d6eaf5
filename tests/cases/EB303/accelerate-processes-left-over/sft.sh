# effbatch: target=64
accelerate launch --config_file accelerate.yaml train_sft.py \
    --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --output_dir out
