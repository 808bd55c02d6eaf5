"""ai-toolkit: batch_size x gradient_accumulation x gradient_accumulation_steps x processes, images.

Upstream: ostris/ai-toolkit, toolkit/config_modules.py (TrainConfig), jobs/process/BaseSDTrainProcess.py,
toolkit/data_loader.py.

Of the two accumulation keys one is 1. With the older ``gradient_accumulation_steps`` the ``steps`` count passes, not
optimizer steps, and -1 accumulates a whole epoch. A bucket that is short is filled by repeating images. The data loader is
not divided among processes: each reads all the images in an order of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.compose.merge import layered
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.terms import Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

NEW, OLD = "train.gradient_accumulation", "train.gradient_accumulation_steps"


def recognise(config: Config) -> int:
    """A job with processes of a trainer."""
    if not config.has("job") or not any(_trains(item) for item in config.items("config.process")):
        return 0
    return 3 + config.count("meta", "config.name")


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """A batch for each process of the job that trains."""
    jobs = [(index, item) for index, item in enumerate(config.items("config.process")) if _trains(item)]
    for index, item in jobs:
        assert isinstance(item, Mapping)
        # Flags and --override name train.* as the process does.
        own = Mapping({key: entry for key, entry in config.root.entries.items() if key in ("train", "datasets")}, None)
        process = config.over(layered([item, own]), f"config.process.{index}.")
        yield _batch(process, launch.world_size, "train" if len(jobs) == 1 else f"process {index + 1}")


def _batch(process: Config, world: Term, name: str) -> Batch:
    micro, varying = _micro(process)
    new, old = process.integer(NEW, default=1), process.integer(OLD, default=1)
    accumulation = new if old.value == 1 else old
    if old.value == -1:
        accumulation = unknown("gradient_accumulation_steps is -1: a whole epoch is one step", *old.origins, key=OLD)
    return Batch(
        micro=micro if varying is None else varying,
        accumulation=accumulation,
        layout=Layout.of_world(world),
        name=name,
        unit="images",
        problems=tuple(_checks(new, old)),
    )


def _micro(process: Config) -> tuple[Term, Term | None]:
    """Images of a pass: the data sets' own number, where they agree, before the process's; else why it is not known."""
    base = process.integer("train.batch_size", default=1)
    count = len(process.items("datasets"))
    keys = [f"datasets.{index}.batch_size" for index in range(count)]
    sizes = [process.integer(key) if process.has(key) else base for key in keys] or [base]
    if len({size.value for size in sizes}) == 1:
        return sizes[0], None
    listed = ", ".join(shown(size.value) for size in sizes)
    return base, unknown(f"the data sets have batches of their own ({listed}), and a pass takes one of them")


def _checks(new: Term, old: Term) -> Iterator[Problem]:
    if (new.value or 1) > 1 and old.value not in (None, 1):
        yield Problem(
            "EB304",
            f"gradient_accumulation {shown(new.value)} and gradient_accumulation_steps {shown(old.value)} are both set",
            (new, old),
            refuses=True,
            help="keep gradient_accumulation",
        )


def _trains(node: object) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("train"), Mapping)


FRAMEWORK = Framework(
    name="ai-toolkit",
    formula="batch_size x gradient_accumulation (or gradient_accumulation_steps) x processes",
    sources=(
        "ostris/ai-toolkit toolkit/config_modules.py",
        "ostris/ai-toolkit jobs/process/BaseSDTrainProcess.py",
    ),
    recognise=recognise,
    read=read,
)
