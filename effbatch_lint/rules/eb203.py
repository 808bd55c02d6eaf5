"""Two places state different world sizes for one run.

What it checks
    A config that says how many devices it runs on (`devices` x `num_nodes`, a launcher's file) against the world size
    that is declared or that the launch line gives.

Why it matters
    One of them is stale. Which of the two wins is the framework's business, and the batch follows it.

Example
    # effbatch: world-size=16
    devices: 8
    num_nodes: 1

Use instead
    num_nodes: 2, or world-size=8.
"""
