"""Which files may start a run, told by their bytes: most files of a project are then never parsed."""

from __future__ import annotations

import re

# A script in which none of these words stands starts no training.
_STARTERS = (
    b"python", b"torchrun", b"accelerate", b"deepspeed", b"srun", b"sbatch", b"mpirun", b"mpiexec", b"composer", b"swift",
    b"llamafactory", b"tune", b"trl", b"fairseq", b"litgpt", b"axolotl", b"ray", b"PYTHON", b".py", b".sh", b"megatron",
    b"lightning", b"nemo", b"oumi", b"xtuner", b"uv ", b"gantry",
)  # fmt: skip


def may_start(data: bytes) -> bool:
    """Whether the bytes of a script hold a word of any launcher."""
    return any(word in data for word in _STARTERS)


# The kinds of Kubernetes, and keys of the manifests that have no kind: SkyPilot, dstack, Determined, mcli, submitit.
_MANIFEST = re.compile(
    rb"^kind:\s*[\"']?(?:PyTorchJob|TrainJob|MPIJob|RayCluster|RayJob|RayService)\b"
    rb"|^(?:run|commands|entrypoint|gpu_num):|^  gpus:|^ +tasks_per_node:",
    re.MULTILINE,
)


def may_be_manifest(data: bytes) -> bool:
    """Whether the bytes of a YAML file hold a key of any manifest."""
    return _MANIFEST.search(data) is not None
