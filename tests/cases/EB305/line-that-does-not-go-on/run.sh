torchrun --nproc_per_node 8 train.py --output_dir o \
  --per_device_train_batch_size 4 \ # per device
  --gradient_accumulation_steps 8 \
  --learning_rate 1e-5
