"""An effbatch comment or a settings key does not exist.

What it checks
    Words after `# effbatch:`, keys of `[tool.effbatch-lint]` and of an `effbatch:` node in a config.

Why it matters
    A declaration with a typing error guards nothing.

Example
    # effbatch: traget=2048

Use instead
    # effbatch: target=2048
"""
