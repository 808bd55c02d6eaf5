"""The framework rounds silently: the real batch is not the declared one.

What it checks
    A division that the framework rounds (down: litgpt, Megatron's --decrease-batch-size-if-needed, HF Trainer's
    replicas; up: div_up resolvers), and that leaves a remainder.

Why it matters
    Nothing is logged. A global batch of 125 trains with 120.

Example
    train: {global_batch_size: 125, micro_batch_size: 5}
    devices: 8                            # 125 // 8 = 15, 15 // 5 = 3: 5 x 3 x 8 = 120

Use instead
    global_batch_size: 120, or a micro batch and a number of devices that divide 125.
"""
