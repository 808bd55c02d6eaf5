"""deepspeed: the slots of a hostfile, filtered, or the devices of one node.

Upstream: deepspeedai/DeepSpeed deepspeed/launcher/runner.py (parse_args, _parse_hostfile, parse_resource_filter,
main): ``--num_nodes`` keeps the first hosts, ``--num_gpus`` replaces the slots of every host whatever they were, and
``CUDA_VISIBLE_DEVICES`` counts only on one node without ``--include``, ``--num_nodes`` and ``--num_gpus``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launchers import hostfile, words
from effbatch_lint.terms import Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

SWITCHES = frozenset((
    "module", "no-python", "no-local-rank", "no-ssh", "no-ssh-check", "force-multi", "save-pid", "elastic-training",
    "bind-cores-to-rank", "quiet", "q", "help",
))  # fmt: skip


def peel(start: Start) -> Start:
    """The program below the deepspeed runner."""
    found = words.options(start.words[1:], SWITCHES, short={"H": "hostfile", "i": "include", "e": "exclude"})
    start = start._replace(hidden=found.hidden)
    nodes, devices, world = _counts(start, found)
    rest = found.rest
    if rest and "no-python" not in found.switches:
        prefix = (written("python"), written("-m")) if "module" in found.switches else (written("python"),)
        rest = (*prefix, *rest)
    return start.left(rest)._replace(
        launcher="deepspeed", nodes=nodes, devices=devices, world_size=world, processes=world, options=found.arguments()
    )


def _counts(start: Start, found: words.Options) -> tuple[Term, Term, Term]:
    """Nodes, devices per node, world size."""
    if found.hidden is not None:
        unsaid = start.default(1, "--num_gpus")
        return unsaid, unsaid, unsaid
    named = found.values.get("hostfile")
    hosts = None if named is None else hostfile.read(start, named)
    include, exclude = found.values.get("include"), found.values.get("exclude")
    nodes, devices = found.term("num-nodes"), found.term("num-gpus", "num-accelerators")
    if include is not None or exclude is not None:
        return _filtered(hosts, include, exclude)
    if hosts is not None:
        kept = hosts if nodes is None or nodes.value is None or nodes.value < 0 else hosts[: int(nodes.value)]
        if nodes is not None and nodes.value is None:
            return nodes, devices or unknown("--num_nodes is not known"), nodes
        return _of_hosts(kept, devices)
    if named is not None:
        missing = f"the hostfile {named.display} is not in the project"
        nodes = nodes or unknown(missing, *words.origins(named, "--hostfile"), key="--hostfile")
        devices = devices or unknown(missing, *words.origins(named, "--hostfile"), key="--hostfile")
        return nodes, devices, product(nodes, devices)
    devices = devices or (start.visible() if nodes is None else None)
    nodes = nodes or Term(1, "default", (), "without a hostfile deepspeed stays on this node", None, "--num_nodes")
    if devices is None:
        devices = unknown("deepspeed takes all devices of the machine: --num_gpus is not given", key="--num_gpus")
    return nodes, devices, product(nodes, devices)


def _of_hosts(hosts: list[hostfile.Host], devices: Term | None) -> tuple[Term, Term, Term]:
    nodes = hostfile.nodes(hosts)
    if devices is not None:
        return nodes, devices, product(nodes, devices)
    return nodes, hostfile.slots_per_node(hosts), hostfile.slots(hosts)


def _filtered(hosts: list[hostfile.Host] | None, include: Text | None, exclude: Text | None) -> tuple[Term, Term, Term]:
    """``--include`` names hosts and slots to use, ``--exclude`` those to leave out: ``host[:0,1][@host ...]``."""
    chosen = include if include is not None else exclude
    assert chosen is not None
    key = "--include" if include is not None else "--exclude"
    where = words.origins(chosen, key)
    if not chosen.known:
        unsaid = unknown(f"{key} is {chosen.display}: {chosen.reason}", *where, key=key)
        return unsaid, unsaid, unsaid
    slots = {host.name: set(range(host.slots)) for host in hosts or []}
    kept: dict[str, set[int]] = {} if include is not None else dict(slots)
    for part in chosen.chars.split("@"):
        name, colon, listed = part.strip().partition(":")
        numbers = {int(slot) for slot in listed.split(",") if slot.strip().isdecimal()}
        if include is not None:
            if not colon and name not in slots:
                unsaid = unknown(
                    f"--include names {name} without its slots, and no hostfile states them", *where, key=key
                )
                return unsaid, unsaid, unsaid
            kept[name] = kept.get(name, set()) | (numbers if colon else slots[name])
        elif hosts is None:
            unsaid = unknown("--exclude leaves devices out, and no hostfile states how many there are", *where, key=key)
            return unsaid, unsaid, unsaid
        else:
            kept[name] = kept.get(name, set()) - numbers if colon else set()
    counts = [len(each) for each in kept.values() if each]
    more = tuple(origin for host in hosts or [] for origin in host.origins)
    nodes = Term(len(counts), "derived", (*where, *more), f"{len(counts)} hosts in {key}", None, key)
    world = Term(sum(counts), "derived", (*where, *more), " + ".join(map(str, counts)), None, key)
    if len(set(counts)) == 1:
        return nodes, Term(counts[0], "derived", where, None, None, key), world
    return nodes, unknown("the hosts have different numbers of devices", *where, key=key), world
