if [ "$MODE" = debug ]; then
    torchrun --nproc_per_node 1 main.py --epochs 1
else
    torchrun --nproc_per_node 8 main.py --epochs 30
fi
