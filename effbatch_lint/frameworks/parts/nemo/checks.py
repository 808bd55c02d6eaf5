"""What NeMo 1 refuses beside an indivisible batch, and what it leaves unread.

Upstream: NVIDIA/NeMo v2.0.0, nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py (_validate_trainer, and
its siblings), megatron_gpt_sft_model.py (packing), examples/multimodal/vision_language_foundation/clip/
megatron_clip_pretrain.py, examples/nlp/information_retrieval/megatron_bert_embedding_finetuning.py (no accumulation).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.nemo.megatron import doubled_accumulation, one_micro_batch
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

# The first retrieval models, which multiply their batch out (megatron_retrieval_model.py).
RETRIEVAL = ("model.chunk_size", "model.dec_cross_attention")
_PACKED = "model.data.train_ds.packed_sequence"
# Contrastive losses see one micro batch of every device at once.
_CONTRASTIVE = ("model.vision", "model.data.hard_negatives_to_train")


def checks(config: Config, micro: Term, total: Term, world: Term) -> Iterator[Problem]:
    """The refusals of one Megatron model."""
    if not config.has(*RETRIEVAL):
        yield from doubled_accumulation(config)
    if config.flag(_PACKED):
        yield from one_micro_batch(config.integer(_PACKED), micro)
    if config.has(*_CONTRASTIVE) and not config.has("model.mm_cfg"):
        yield from _one_pass(config, micro, total, world)


def ignored(config: Config, keys: tuple[str, str]) -> Iterator[Problem]:
    """Fine-tuning takes its pair from ``data.train_ds``; another number beside the model has no effect."""
    tuned, shadowed = (config.integer(key) for key in keys)
    if tuned.known and shadowed.known and tuned.value != shadowed.value:
        yield Problem(
            "EB305",
            f"{shadowed.key} {shown(shadowed.value)} has no effect: {tuned.key} {shown(tuned.value)} replaces it",
            (shadowed, tuned),
            help=f"write ${{model.{keys[1].rpartition('.')[2]}}} in data.train_ds, or remove the other",
        )


def _one_pass(config: Config, micro: Term, total: Term, world: Term) -> Iterator[Problem]:
    whole = product(micro, world)
    divisors = [config.integer(f"model.{name}_model_parallel_size", default=1) for name in ("tensor", "pipeline")]
    if whole.value is None or total.value is None or any(size.value != 1 for size in divisors):
        return
    if whole.value < total.value:
        yield Problem(
            "EB304",
            f"{total.key} {shown(total.value)} is more than {shown(micro.value)} ({micro.key}) x {shown(world.value)} "
            "devices, and a contrastive model does not accumulate",
            (total, micro, world),
            refuses=True,
            help=f"set {total.key} to {shown(whole.value)}",
        )
