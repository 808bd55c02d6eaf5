"""A batch key has no effect.

What it checks
    A key that looks as if it set the batch and that this framework, or this version of it, ignores: a stale name, a
    key in the wrong section, one that another key overrides. In a launch script also the flags below a line that does
    not end in a backslash (a comment or a blank behind it is enough): bash takes them for another command, and trains
    without them.

Why it matters
    Whoever reads the config believes it.

Example
    micro_batch_size: 1
    batch_size: 4                         # axolotl: only used to estimate steps; accumulation stays 1

Use instead
    Remove the key, or write the one that counts.
"""
