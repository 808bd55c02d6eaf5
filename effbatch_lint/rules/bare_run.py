"""Findings about devices that only a run outside of every scheduler would have.

``NNODES=${SLURM_NNODES:-1}`` takes 1 where no scheduler has set the variable; a job sets another number. What is wrong
with one node may be right with the job's: that is a warning, which says for which run it holds, and no error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding

# Set for a job by Slurm, Kubeflow (PET_: torchrun's own), PBS, LSF, Grid Engine, MPI, SkyPilot, dstack, Beaker and the
# platforms whose variables stand in public scripts; WORLD_SIZE is what Kubeflow and Volcano call the number of pods.
_DEFAULT = re.compile(
    r"the default in \$\{("
    r"(?:SLURM|PET|PBS|LSB|SGE|OMPI|PMI|PMIX|SKYPILOT|DSTACK|BEAKER|MLP|ARNOLD|VC|COBALT)_\w+|NHOSTS|WORLD_SIZE)\b"
)
# What counts devices: the others hold for any number of nodes.
_COUNTING = frozenset(("EB101", "EB103", "EB201", "EB202", "EB203"))


def softened(finding: Finding, batch: Batch) -> Finding:
    """The finding; a warning where the number of devices is a default that a scheduler would replace."""
    if finding.severity != "error" or finding.code not in _COUNTING:
        return finding
    notes = (origin.note for origin in batch.layout.world.origins if origin.note)
    variable = next((found[1] for found in map(_DEFAULT.search, notes) if found), None)
    if variable is None:
        return finding
    said = f"this holds for a run in which nothing sets {variable}; in a job the scheduler does"
    notes_said = tuple(note for note in finding.notes if not note.endswith(" stops at start"))
    help_said = f"state the job's: --set {variable}=N, or a pragma: # effbatch: world-size=N"
    return finding._replace(severity="warning", notes=(*notes_said, said), help=help_said)
