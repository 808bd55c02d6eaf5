"""The model-parallel degrees do not divide the world size.

What it checks
    tensor x pipeline x context (x sequence) devices hold one replica; the number of devices must be a multiple of that.

Why it matters
    The framework stops at start, on a cluster that has already been allocated.

Example
    # effbatch: world-size=8
    parallelism: {tensor_parallel_degree: 3}

Use instead
    Degrees whose product divides the devices, or a multiple of the product as the number of devices.

Note
    HF Trainer divides by floor and starts: devices that are left over are then reported by EB303.
    Where the devices are counted with the default of a scheduler's variable (NNODES=${SLURM_NNODES:-1}), this and the
    other findings about the number of devices are warnings: a job has another number.
"""
