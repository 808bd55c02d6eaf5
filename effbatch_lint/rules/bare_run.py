"""Findings about devices that only a run outside of every scheduler would have.

``NNODES=${SLURM_NNODES:-1}`` takes 1 where no scheduler has set the variable; a job sets another number. What is wrong
with one node may be right with the job's: that is a warning, which says for which run it holds, and no error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.said import scheduled

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding

# What counts devices: the others hold for any number of nodes.
_COUNTING = frozenset(("EB101", "EB103", "EB201", "EB202", "EB203"))


def softened(finding: Finding, batch: Batch) -> Finding:
    """The finding; a warning where the number of devices is a default that a scheduler would replace."""
    if finding.severity != "error" or finding.code not in _COUNTING:
        return finding
    notes = (origin.note for origin in batch.layout.world.origins if origin.note)
    variable = next(filter(None, map(scheduled, notes)), None)
    if variable is None:
        return finding
    said = f"this holds for a run in which nothing sets {variable}; in a job the scheduler does"
    notes_said = tuple(note for note in finding.notes if not note.endswith(" stops at start"))
    help_said = f"state the job's: --set {variable}=N, or a pragma: # effbatch: world-size=N"
    return finding._replace(severity="warning", notes=(*notes_said, said), help=help_said)
