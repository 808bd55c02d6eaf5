"""``python -m effbatch_lint``."""

from effbatch_lint.cli import run

run()
