"""An ignore comment suppresses nothing.

What it checks
    # effbatch: ignore[EB301] on a line where EB301 says nothing (any more).

Why it matters
    It would hide the next finding there.

Example
    gradient_accumulation_steps: 8  # effbatch: ignore[EB301] the JSON is generated

Use instead
    Remove the comment.
"""
