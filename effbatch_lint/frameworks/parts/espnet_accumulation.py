"""ESPnet2's forward passes of one optimizer step.

Upstream: espnet/espnet, espnet2/train/trainer.py (train_one_epoch: accum_grad), espnet2/train/gan_trainer.py and
uasr_trainer.py (no accumulation), espnet2/train/deepspeed_trainer.py: DeepSpeed's engine counts the passes by its own
file, and ``accum_grad`` is not handed to it. A single process is trained without DeepSpeed (abs_task.py, main_worker).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_KEY = "accum_grad"
# Options of the tasks that train a discriminator beside the model.
_ADVERSARIAL = ("optim2", "generator_first")


def passes(config: Config, world: Term) -> tuple[Term, tuple[Problem, ...]]:
    """The passes, and what is wrong about them."""
    written = config.integer(_KEY, default=1)
    if config.has(*_ADVERSARIAL):
        return written, _refused(written)
    if not config.flag("use_deepspeed") or world.value == 1:
        return written, ()
    counted = _engine(config, world)
    if counted.value == written.value:
        return written, ()
    if not world.known:
        reason = f"DeepSpeed counts the passes of more than one process, {_KEY} those of a single one: {world.reason}"
        return unknown(reason, *written.origins, *counted.origins, key=_KEY), ()
    return counted, _without_effect(config, written, counted)


def _engine(config: Config, world: Term) -> Term:
    """The passes that DeepSpeed's engine is told."""
    from effbatch_lint.frameworks.parts.deepspeed import json  # noqa: PLC0415 - few runs of ESPnet use DeepSpeed
    from effbatch_lint.frameworks.parts.deepspeed.triple import complete  # noqa: PLC0415 - as above

    engine = config.companion("deepspeed_config")
    if engine is None:
        reason = "the passes of one step stand in the file that deepspeed_config names, which is not among the files"
        return unknown(reason, *config.place("deepspeed_config").origins, key="deepspeed_config")
    batch, micro, given = (
        engine.integer(key) if engine.has(key) else None for key in (json.BATCH, json.MICRO, json.ACCUMULATION)
    )
    return complete(batch, micro, given, world).accumulation


def _refused(written: Term) -> tuple[Problem, ...]:
    if written.value is None or written.value <= 1:
        return ()
    return (
        Problem(
            "EB304",
            f"{_KEY} is {shown(written.value)}: ESPnet's adversarial trainers do not accumulate",
            (written,),
            refuses=True,
            help=f"set {_KEY} to 1 and raise the mini batch",
        ),
    )


def _without_effect(config: Config, written: Term, counted: Term) -> tuple[Problem, ...]:
    if not config.has(_KEY) or not counted.known:
        return ()
    return (
        Problem(
            "EB305",
            f"{_KEY} {shown(written.value)} has no effect: DeepSpeed counts {shown(counted.value)} by its own file",
            (written, counted),
            help=f"set gradient_accumulation_steps in the DeepSpeed file, and remove {_KEY}",
        ),
    )
