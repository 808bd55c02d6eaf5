GLOBAL=128
NGPU=${NGPU:-3}
ACCUMULATION=$(( GLOBAL / 4 / NGPU ))
torchrun --nproc_per_node $NGPU train.py --output_dir out \
    --per_device_train_batch_size 4 --gradient_accumulation_steps $ACCUMULATION
