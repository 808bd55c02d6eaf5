"""``ray job submit -- program``: the cluster is somebody else's; what runs is the program behind the dashes.

Programs that start their own workers on Ray say in their own words on how many devices (verl's trainer.nnodes,
slime's --actor-num-nodes); :data:`OWN_WORDS` lists those whose words mean the devices that train.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, spaced
from effbatch_lint.launchers import words
from effbatch_lint.terms import product, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.launch import Argument
    from effbatch_lint.launchers.start import Start
    from effbatch_lint.terms import Term

_SWITCHES = frozenset(("no-wait", "verbose", "v", "help"))
# Nodes, devices per node. verl: trainer/main_ppo.py (init_resource_pool_mgr); slime: utils/arguments.py.
OWN_WORDS = (("trainer.nnodes", "trainer.n_gpus_per_node"), ("actor-num-nodes", "actor-num-gpus-per-node"))


def peel(start: Start) -> Start | None:
    """The program that the job runs; None for any other use of ``ray``."""
    rest = start.words
    if len(rest) < 3 or rest[1].chars != "job" or rest[2].chars != "submit":  # noqa: PLR2004 - "ray job submit"
        return None
    found = words.options(rest[3:], _SWITCHES)
    allocation = start.job.allocation
    nodes = allocation and allocation.nodes
    devices = allocation and allocation.devices_per_node
    world = unknown("how many devices the Ray cluster has is stated where it is started")
    if nodes is not None and devices is not None:
        world = product(nodes, devices)
    return start.left(_program(found.rest))._replace(
        launcher="ray", nodes=nodes, devices=devices, world_size=world, options=found.arguments()
    )


def _program(rest: tuple[Text, ...]) -> tuple[Text, ...]:
    """The entry point is joined and given to a shell: one quoted word may be a whole command line."""
    if len(rest) == 1 and " " in rest[0].chars.strip():
        from effbatch_lint.documents.shell.text import written  # noqa: PLC0415 - few entry points are one word

        return (written("bash"), written("-c"), spaced(list(rest)))
    return rest


def own_words(found: Sequence[Argument]) -> tuple[Term, Term] | None:
    """Nodes and devices per node as the program's own arguments state them."""
    given = {argument.name.replace("_", "-") if argument.dashes else argument.name: argument for argument in found}
    for nodes, devices in OWN_WORDS:
        if nodes in given and devices in given:
            return words.number(given[nodes]), words.number(given[devices])
    return None
