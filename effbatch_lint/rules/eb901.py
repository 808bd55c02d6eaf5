"""The file cannot be read or parsed, or is over a limit.

What it checks
    Syntax errors at their line and column; bytes that are no UTF-8; a directory, pipe or device; a file outside the
    project; limits on size (2 MB), nesting, expanded aliases and digits. The other files are still checked.

Why it matters
    A config that cannot be read is not guarded.

Example
    micro_batch_size: [4

Use instead
    Mend the file; a folder outside the project is named in the settings: extra-roots = ["../configs"].
"""
