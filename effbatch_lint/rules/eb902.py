"""The framework's own composition of files would refuse.

What it checks
    Several files make one config (a reference to a DeepSpeed file, defaults lists, inheritance), and they cannot be
    put together: a cycle, a missing file that is not optional, an override that matches nothing.

Why it matters
    The run stops before it starts.

Example
    a.yaml: deepspeed: b.yaml
    b.yaml: deepspeed: a.yaml

Use instead
    What the message says; it is the framework's own reason.
"""
