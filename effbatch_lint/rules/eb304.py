"""Another start-up check of the framework fails.

What it checks
    Rules of the framework about the batch or the layout that are no mere division: combinations it refuses, a required
    key that is missing, a version that removed a key. The message names the framework's own rule.

Why it matters
    The run stops at start.

Example
    A DeepSpeed JSON with `gradient_accumulation_steps` and neither of the two batch-size keys.

Use instead
    What the message says.
"""
