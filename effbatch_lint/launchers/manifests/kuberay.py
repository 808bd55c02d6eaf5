"""KubeRay: RayCluster and RayJob: what the cluster has, and the program that a job runs on it.

Upstream: ray-project/kuberay ray-operator/apis/ray/v1: rayStartParams.num-gpus beats the container's limit; a group has
replicas x numOfHosts machines. What trains is in the job's own words (verl trainer.nnodes, ...).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.launch import Allocation, Launch
from effbatch_lint.launchers.manifests.job import Manifest, alone, container_devices, containers, joined
from effbatch_lint.launchers.start import Said
from effbatch_lint.terms import Term, product, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

KINDS = frozenset(("RayCluster", "RayJob", "RayService"))


def launches(manifest: Manifest) -> list[Launch]:
    """The launch of the job's entry point, or the cluster alone."""
    config = manifest.config
    spec = config.section("spec.rayClusterSpec") or config.section("spec.rayClusterConfig") or config.section("spec")
    if spec is None:
        return []
    allocation, world = _cluster(spec)
    entrypoint = joined(manifest, config.node("spec.entrypoint"))
    if entrypoint is not None:
        said = Said("ray", allocation.nodes, allocation.devices_per_node, world)
        found = manifest.of_script(entrypoint, manifest.environment(), allocation, said)
        if found:
            return found
    return [alone(manifest, "ray", allocation, world)]


def _cluster(spec: Config) -> tuple[Allocation, Term]:
    """Machines with devices, devices per machine, devices in all."""
    groups: list[tuple[Term, Term]] = []
    head = spec.section("headGroupSpec")
    if head is not None:
        groups.append((Term(1, "default", (), None, None, "headGroupSpec"), _devices(head)))
    for item in spec.items("workerGroupSpecs"):
        if isinstance(item, Mapping):
            group = spec.over(item, "workerGroupSpecs.")
            groups.append((_machines(group), _devices(group)))
    with_devices = [(machines, devices) for machines, devices in groups if devices.value != 0]
    if not with_devices:
        nothing = unknown("no group of the cluster asks for devices")
        return Allocation(None, None, None), nothing
    nodes = total(*(machines for machines, _ in with_devices)) if len(with_devices) > 1 else with_devices[0][0]
    parts = [product(machines, devices) for machines, devices in with_devices]
    world = total(*parts) if len(parts) > 1 else parts[0]
    counts = {devices.value for _, devices in with_devices}
    per_node = with_devices[0][1] if len(counts) == 1 else None
    return Allocation(nodes, per_node, world), world


def _machines(group: Config) -> Term:
    hosts = group.integer("numOfHosts", default=1)
    low, high = group.integer("minReplicas", default=0), group.integer("maxReplicas", default=0)
    if group.has("replicas"):
        return product(group.integer("replicas"), hosts) if hosts.value != 1 else group.integer("replicas")
    if low.value == high.value and low.value:
        return product(low, hosts)
    return unknown(f"the group scales from {low.value} to {high.value} replicas", *low.origins, *high.origins)


def _devices(group: Config) -> Term:
    """The devices of one machine: what Ray is told, else what the container asks for, else none."""
    if group.has("rayStartParams.num-gpus"):
        return group.integer("rayStartParams.num-gpus")
    for container in containers(group, "template"):
        found = container_devices(container)
        if found is not None:
            return found
    return Term(0, "default", (), None, None, "nvidia.com/gpu")
