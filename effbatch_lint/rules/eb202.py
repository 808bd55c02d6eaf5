"""A declared data-parallel degree is not world size / model-parallel degrees.

What it checks
    The config writes the number of replicas itself (nanotron `dp`, torchtitan `data_parallel_shard_degree`), and
    replicas x tensor x pipeline x context is another number of devices than the job has.

Why it matters
    The framework stops at start; or, where it does not, the batch is another one than the config suggests.

Example
    # effbatch: world-size=8
    parallelism: {dp: 2, tp: 2, pp: 1}    # 4 devices

Use instead
    parallelism: {dp: 4, tp: 2, pp: 1}
"""
