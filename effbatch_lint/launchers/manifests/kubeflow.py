"""Kubeflow: PyTorchJob, TrainJob, MPIJob.

Upstream: kubeflow/training-operator pkg/controller.v1/pytorch/envvar.go, elastic.go (PET_NNODES from the replicas or
min:max, PET_NPROC_PER_NODE); kubeflow/trainer pkg/runtime/framework/plugins/torch/torch.go (the same from numNodes and
numProcPerNode, "auto" meaning the GPUs of a node); kubeflow/mpi-operator v2beta1 (slotsPerWorker).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launch import Allocation, Launch
from effbatch_lint.launchers.manifests.job import (
    Manifest,
    alone,
    container_devices,
    containers,
    key_origin,
    number_text,
    words_of,
)
from effbatch_lint.terms import Term, product, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

KINDS = frozenset(("PyTorchJob", "TrainJob", "MPIJob"))


def launches(manifest: Manifest) -> list[Launch]:
    """The launches of one of the three."""
    kind = manifest.config.text("kind")
    if kind == "TrainJob":
        return _train_job(manifest)
    return _pytorch_job(manifest) if kind == "PyTorchJob" else _mpi_job(manifest)


def _replicas(config: Config, specs: str) -> Term:
    """The pods of all the roles; a role without a number has one."""
    roles = config.section(specs)
    names = [] if roles is None else list(roles.root.entries)
    counts = [config.integer(f"{specs}.{name}.replicas", default=1) for name in names]
    return total(*counts).named("replicas") if len(counts) > 1 else counts[0] if counts else unknown("no replicas")


def _pytorch_job(manifest: Manifest) -> list[Launch]:
    config = manifest.config
    specs = "spec.pytorchReplicaSpecs"
    nodes, nodes_text = _nodes(config, specs)
    role = "Worker" if config.has(f"{specs}.Worker.template") or config.node(f"{specs}.Worker") else "Master"
    if config.node(f"{specs}.Master") is not None:
        role = "Master"
    for container in containers(config, f"{specs}.{role}.template")[:1]:
        devices = container_devices(container)
        environment = manifest.environment(container.node("env"))
        environment.setdefault("PET_NNODES", nodes_text)
        per_node = config.value("spec.nprocPerNode", "spec.elasticPolicy.nProcPerNode")
        if per_node is not None:
            key = "spec.nprocPerNode" if config.has("spec.nprocPerNode") else "spec.elasticPolicy.nProcPerNode"
            node = config.node(key)
            environment.setdefault("PET_NPROC_PER_NODE", manifest.text(node) if node is not None else Text())
        allocation = Allocation(nodes, devices, product(nodes, devices) if devices is not None else None)
        words = words_of(manifest, container.node("command"), container.node("args"), environment=environment)
        found = manifest.of_words(words, environment, allocation)
        if found:
            return [_one_per_pod(launch, nodes, devices) for launch in found]
        return [alone(manifest, "pytorchjob", allocation, allocation.devices or unknown("no devices are asked for"))]
    return []


def _one_per_pod(launch: Launch, nodes: Term, devices: Term | None) -> Launch:
    """A plain program runs once per pod: that is the world size when a pod has one device, or none."""
    if launch.launcher != "python":
        return launch
    world = nodes if devices is None or devices.value == 1 else launch.world_size
    return launch._replace(launcher="pytorchjob", nodes=nodes, world_size=world, processes=nodes)


def _nodes(config: Config, specs: str) -> tuple[Term, Text]:
    """The nodes, and PET_NNODES: the replicas, or ``min:max`` of an elastic job."""
    if not config.has("spec.elasticPolicy.minReplicas", "spec.elasticPolicy.maxReplicas"):
        nodes = _replicas(config, specs)
        return nodes, number_text(nodes, "PET_NNODES")
    replicas = config.integer(f"{specs}.Worker.replicas", default=1)
    low = config.integer("spec.elasticPolicy.minReplicas") if config.has("spec.elasticPolicy.minReplicas") else replicas
    high = (
        config.integer("spec.elasticPolicy.maxReplicas") if config.has("spec.elasticPolicy.maxReplicas") else replicas
    )
    if low.value is not None and low.value == high.value:
        return low, number_text(low, "PET_NNODES")
    where = (*low.origins, *high.origins)
    reason = f"elastic: from {low.value} to {high.value} replicas"
    return unknown(reason, *where, key="replicas"), written(f"{low.value}:{high.value}", *low.spans, *high.spans)


def _train_job(manifest: Manifest) -> list[Launch]:
    config = manifest.config
    trainer = config.section("spec.trainer")
    runtime = config.text("spec.runtimeRef.name") or "the training runtime"
    missing = f"it is stated by the runtime {runtime}, which is not here"
    where = key_origin(config, "spec.runtimeRef.name")
    if trainer is None:
        unsaid = unknown(f"spec.trainer is absent: {missing}", *where)
        return [alone(manifest, "trainjob", Allocation(unsaid, unsaid), unsaid)]
    nodes = (
        trainer.integer("numNodes") if trainer.has("numNodes") else unknown(f"numNodes is absent: {missing}", *where)
    )
    devices = container_devices(trainer, "resourcesPerNode")
    processes = _processes(trainer, devices, missing)
    environment = manifest.environment(trainer.node("env"))
    environment.setdefault("PET_NNODES", number_text(nodes, "PET_NNODES"))
    environment.setdefault("PET_NPROC_PER_NODE", number_text(processes, "PET_NPROC_PER_NODE"))
    allocation = Allocation(nodes, devices)
    words = words_of(manifest, trainer.node("command"), trainer.node("args"), environment=environment)
    found = manifest.of_words(words, environment, allocation)
    stated = allocation._replace(devices_per_node=processes)
    return found or [alone(manifest, "trainjob", stated, product(nodes, processes))]


def _processes(trainer: Config, devices: Term | None, missing: str) -> Term:
    value = trainer.text("numProcPerNode")
    if value is None and devices is None:
        return unknown(f"numProcPerNode is absent: {missing}", key="numProcPerNode")
    if value in (None, "auto", "gpu") and devices is not None:
        return devices
    if value in ("auto", "gpu", "cpu"):
        origins = key_origin(trainer, "numProcPerNode")
        return unknown(f"numProcPerNode is {value}, and no devices are asked for: {missing}", *origins)
    return trainer.integer("numProcPerNode")


def _mpi_job(manifest: Manifest) -> list[Launch]:
    config = manifest.config
    specs = "spec.mpiReplicaSpecs"
    workers = config.integer(f"{specs}.Worker.replicas", default=1)
    slots = config.integer("spec.slotsPerWorker", default=1)
    devices = next(
        (found for each in containers(config, f"{specs}.Worker.template") if (found := container_devices(each))), None
    )
    tasks = product(workers, slots)
    allocation = Allocation(workers, devices, product(workers, devices) if devices else None, tasks, slots)
    for container in containers(config, f"{specs}.Launcher.template")[:1]:
        environment = manifest.environment(container.node("env"))
        words = words_of(manifest, container.node("command"), container.node("args"), environment=environment)
        started = manifest.of_words(words, environment, allocation)
        if started:
            return started
    return [alone(manifest, "mpijob", allocation, _at_most(tasks))]


def _at_most(tasks: Term) -> Term:
    """Without mpirun's line only the most that it could start is known."""
    return unknown(f"mpirun's -np is not here; there are {tasks.value} slots", *tasks.origins)
