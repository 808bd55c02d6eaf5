run() {
  torchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4 "$@"
}
run --per_device_train_batch_size 8
BASE="--micro-batch-size 4 --global-batch-size 64 --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --train-iters 10"
EXTRA="--micro-batch-size 8"
torchrun --nproc_per_node 8 pretrain_gpt.py $BASE $EXTRA
