ARGS="--output_dir o
  --per_device_train_batch_size 4
  --learning_rate 1e-5
  --per_device_train_batch_size 8"
torchrun --nproc_per_node 8 train.py $ARGS
