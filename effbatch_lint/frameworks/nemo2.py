"""NeMo 2: the data module declares the global batch, the strategy the degrees; AutoModel runs follow the devices.

    Megatron    B = data.global_batch_size,  accumulation = B / (data.micro_batch_size x replicas)
    AutoModel   B = data.micro_batch_size x replicas x trainer.accumulate_grad_batches

Upstream: NVIDIA/NeMo main (2025-09), nemo/collections/llm/api.py (_validate_config), nemo/lightning/data.py
(setup_microbatch_calculator), nemo/collections/llm/gpt/data (the modules' defaults), nemo/collections/speechlm. The layout
is nemo_megatron's. AutoModel is nemo2_automodel.

Read are the YAML files of speechlm (``data.common``, ``strategy``), files exported by NeMo-Run (``trainer.strategy``), and
the words of ``nemo llm pretrain``, whose recipe in Python has defaults that no file shows: what is not written is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from effbatch_lint.batch import Batch
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.nemo.devices import nemo_devices
from effbatch_lint.frameworks.parts.nemo.megatron import nemo_division, nemo_layout, one_micro_batch
from effbatch_lint.frameworks.parts.nemo2_automodel import automodel_batch, is_automodel
from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_SECTIONS = ("data.train_ds.", "data.", "data.common.")
_MICRO = tuple(f"{section}micro_batch_size" for section in _SECTIONS)
_GLOBAL = tuple(f"{section}global_batch_size" for section in _SECTIONS)
_LENGTH = tuple(f"{section}{name}" for section in _SECTIONS for name in ("seq_length", "max_seq_length"))
_PACKED = "data.packed_sequence_specs.packed_sequence_size"
_BESIDE = ("trainer.devices", "trainer.num_nodes", "optim.config", "optim._target_", "resume._target_", "data._target_")
_DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


def recognise(config: Config) -> int:
    """A strategy with Megatron's degrees, or a class of NeMo's, beside a data module with sizes."""
    section = _strategy(config)
    degrees = config.count(*(f"{section}{name}" for name in _DEGREES))
    targets = (f"{section}_target_", "trainer._target_", "data._target_", "model._target_")
    named = sum((config.text(target) or "").startswith("nemo.") for target in targets)
    sizes = config.has(*_MICRO, *_GLOBAL) or (config.text("data._target_") or "").startswith("nemo.")
    if not sizes or not (degrees or named) or config.has("model.micro_batch_size"):
        return 0
    return config.count(*_MICRO, *_GLOBAL, *_BESIDE) + 2 * (degrees + named)


def starts(launch: Launch) -> bool:
    """``nemo llm pretrain`` and its siblings."""
    return (launch.program or "").startswith(("nemo llm", "nemo vlm", "nemo speechlm"))


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch. Without a class that is named, nothing says which defaults a recipe in Python has set."""
    world, conflicts = nemo_devices(config, launch)
    section = _strategy(config)
    defaults = _module_has_defaults(config)
    micro = config.integer(*_MICRO, default=4 if defaults else None)
    if is_automodel(config, section):
        batch = automodel_batch(config, section, config.integer(*_MICRO, default=2), world, launch)
        yield batch._replace(problems=(*conflicts, *batch.problems))
        return
    total = config.integer(*_GLOBAL, default=8 if defaults else None)
    layout = nemo_layout(config, section, world, default=1 if config.has(f"{section}_target_") else None, cutting=False)
    division = nemo_division(config, section, total, micro, layout, "data.rampup_batch_size")
    length, tokens, bound = _length(config, defaults=defaults)
    yield Batch(
        micro=micro,
        accumulation=division.accumulation,
        layout=layout,
        sequence_length=length,
        global_batch=_stepped(config, division.global_batch),
        declared=total if config.has(*_GLOBAL) else None,
        tokens=tokens,
        tokens_bound=bound,
        schedule=division.schedule,
        problems=(
            *conflicts,
            *division.problems,
            *one_micro_batch(config.integer(_PACKED) if config.has(_PACKED) else None, micro),
        ),
    )


def _strategy(config: Config) -> str:
    return "trainer.strategy." if isinstance(config.node("trainer.strategy"), Mapping) else "strategy."


def _module_has_defaults(config: Config) -> bool:
    """Whether the data module is one of those whose sizes are 4 and 8 unless they are given."""
    target = config.text("data._target_") or ""
    return target.startswith("nemo.collections.llm.") and not any(word in target for word in ("t5", "HF", "hf_"))


def _stepped(config: Config, total: Term) -> Term:
    """NeMo 1 refuses the Trainer's own accumulation; nothing in NeMo 2 does, nor says what it comes to."""
    given = config.integer("trainer.accumulate_grad_batches", default=1)
    if given.value is None or given.value <= 1:
        return total
    reason = "trainer.accumulate_grad_batches is set beside a strategy that accumulates inside its step"
    return unknown(reason, *given.origins, *total.origins)


def _length(config: Config, *, defaults: bool) -> tuple[Term, Term | None, Literal["exact", "at most"]]:
    """The tokens of a row; T where it is not B x that; and whether rows may be shorter."""
    if config.has(_PACKED):
        return config.integer(_PACKED), None, "exact"
    found = config.integer(*_LENGTH, default=2048 if defaults else None)
    if config.has("model.speech_encoder", "model.speech_model"):
        return found, unknown("the length limits the text, and the audio comes on top"), "at most"
    whole = any(word in (config.text("data._target_") or "") for word in ("PreTraining", "Pretraining", "Mock"))
    return found, None, "exact" if whole else "at most"


FRAMEWORK = Framework(
    name="nemo2",
    formula="data.global_batch_size = micro_batch_size x accumulation x world / (tensor x pipeline x context)",
    sources=(
        "NVIDIA/NeMo nemo/collections/llm/api.py",
        "NVIDIA/NeMo nemo/lightning/data.py",
        "NVIDIA/NeMo nemo/lightning/pytorch/strategies/fsdp2_strategy.py",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
    dialect="omegaconf",
)
