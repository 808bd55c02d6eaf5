"""A manifest -> its launches: which cluster or cloud a YAML document is written for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Config
from effbatch_lint.documents.shell.text import TooLong, written
from effbatch_lint.launchers.manifests import determined, dstack, kubeflow, kuberay, mosaic, skypilot, submitit
from effbatch_lint.launchers.manifests.job import Manifest
from effbatch_lint.launchers.script import Started
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from effbatch_lint.documents.document import Document
    from effbatch_lint.files import Files
    from effbatch_lint.launch import Launch

# Manifests without a kind of their own, by their keys.
_BY_KEYS = (
    (dstack.recognised, dstack.launches),
    (mosaic.recognised, mosaic.launches),
    (determined.recognised, determined.launches),
    (skypilot.recognised, skypilot.launches),
    (submitit.recognised, submitit.launches),
)
# A file whose text holds none of these words is no manifest.
WORDS = (
    "PyTorchJob", "TrainJob", "MPIJob", "RayCluster", "RayJob", "RayService", "num_nodes", "accelerators", "gpu_num",
    "compute", "slots_per_trial", "entrypoint", "submitit", "tasks_per_node", "gpus_per_node", "commands",
)  # fmt: skip


def may_be_manifest(text: str) -> bool:
    """Whether the text holds a word of any manifest."""
    return any(word in text for word in WORDS)


def launches(
    document: Document, files: Files | None = None, *, environment: Mapping[str, str] | None = None
) -> Started:
    """The launches that the documents of a YAML file describe; none when it is no manifest."""
    given = {name: written(value, note=f"--set {name}={value}") for name, value in (environment or {}).items()}
    found: list[Launch] = []
    problems: list[Unreadable] = []
    if may_be_manifest(document.source.text):
        for root in document.mappings:
            config = Config(root, document.source.path, document.dialect)
            try:
                found.extend(_launches(Manifest(config, document.source, files, given)))
            except TooLong:
                problems.append(Unreadable(document.source.span(), "a command is longer than the limit"))
    return Started(found, problems, {})


def _launches(manifest: Manifest) -> list[Launch]:
    config = manifest.config
    kind = config.text("kind")
    if kind in kubeflow.KINDS:
        return kubeflow.launches(manifest)
    if kind in kuberay.KINDS:
        return kuberay.launches(manifest)
    if kind is not None:
        return []
    for recognised, read in _BY_KEYS:
        if recognised(config):
            return read(manifest)
    return []
