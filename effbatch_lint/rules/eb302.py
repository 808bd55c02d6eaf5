"""The global batch is not micro batch x replicas x a whole number.

What it checks
    A declared global batch that micro batch x replicas does not divide, where the framework refuses to start.

Why it matters
    The run stops after the cluster has been allocated; a number of devices that changed is the usual cause.

Example
    global_batch_size: 100
    local_batch_size: 8                   # 8 x 8 replicas = 64, and 100 / 64 is not whole

Use instead
    A global batch that is a multiple of micro batch x replicas.
"""
