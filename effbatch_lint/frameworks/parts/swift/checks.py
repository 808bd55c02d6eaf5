"""What ``swift sft|pt|rlhf`` refuses or drops without a word.

Upstream: modelscope/ms-swift, swift/arguments/sft_args.py (_check_padding_free, _init_deepspeed, _init_fsdp),
swift/arguments/rlhf_args.py (_check_sequence_parallel, _check_padding_free, _check_grpo), swift/utils/env.py (is_mp),
swift/pipelines/train/kto.py, swift/pipelines/base.py (words that no argument takes), 4.6. 2.x and 3.x asked less.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.swift import rollout as swift_rollout
from effbatch_lint.frameworks.parts.swift.processes import on_each_node
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MEGATRON_ONLY = (
    "micro_batch_size", "global_batch_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
    "context_parallel_size", "expert_model_parallel_size",
)  # fmt: skip
_FLASH = ("flash_attn", "flash_attention_2", "flash_attention_3", "flash_attention_4")
_SPLIT = frozenset(("grpo", "dpo"))
_PADDING_FREE = frozenset(("grpo", "dpo", "kto", "gkd"))
_WHOLE_DEVICES = ("deepspeed", "fsdp", "use_liger_kernel")
_LISTED = re.compile(r"\s*\d{1,4}\s*(?:,\s*\d{1,4}\s*)*", re.ASCII)


def checks(
    config: Config, launch: Launch, kind: str | None, micro: Term, accumulation: Term, layout: Layout
) -> Iterator[Problem]:
    """The findings on a run of HF Trainer; ``kind`` is its ``rlhf_type``, None for sft and pt."""
    yield from sizes(micro, accumulation)
    yield from foreign(config, launch, MEGATRON_ONLY, "swift")
    yield from _devices(config, launch, kind)
    if kind in ("grpo", "gkd"):
        yield from swift_rollout.of_trainer(config, kind, micro, accumulation, layout.world)
    if config.has("batch_size") and config.has("sft_type") and micro.key != "batch_size":
        yield _ignored(config.integer("batch_size"), micro)
    if config.has("deepspeed_autotp_size") and not config.has("deepspeed"):
        unused = config.integer("deepspeed_autotp_size")
        reason = f"deepspeed_autotp_size {shown(unused.value)} has no effect without deepspeed"
        yield Problem("EB305", reason, (unused,), help="name a DeepSpeed file, or drop deepspeed_autotp_size")
    if not config.has("sft_type"):
        yield from _methods(config, kind, layout)
        yield from _flash(config)
    if kind == "kto" and config.text("loss_type") != "apo_zero_unpaired":
        whole = product(micro, accumulation, layout.world)
        if whole.value is not None and whole.value <= 1:
            reason = "KTO's KL term needs at least 2 rows in a step, and there is 1"
            yield _refused(reason, micro, accumulation, layout.world, help=f"raise {micro.key} or {accumulation.key}")


def sizes(*terms: Term) -> Iterator[Problem]:
    """Sizes below 1."""
    for term in terms:
        if term.value is not None and term.value < 1 and term.how != "derived":
            yield _refused(f"{term.key} is {shown(term.value)}", term, help="set 1 or more")


def foreign(config: Config, launch: Launch, names: tuple[str, ...], command: str) -> Iterator[Problem]:
    """Keys of the other side, which the command does not know, and stops at."""
    if launch.program is None or config.flag("ignore_args_error"):
        return
    given = [name for name in names if config.count(name)]
    if given:
        other = "megatron" if command == "swift" else "swift"
        yield _refused(
            f"{', '.join(given)}: no argument of {launch.program}, which stops at it",
            *(config.integer(name) for name in given),
            help=f"start it with `{other}`, or use the names of `{command}`",
        )


def _ignored(early: Term, micro: Term) -> Problem:
    return Problem(
        "EB305",
        f"batch_size {shown(early.value)} has no effect: {micro.key} {shown(micro.value)} takes its place",
        (early, micro),
        help="remove one of them",
    )


def _methods(config: Config, kind: str | None, layout: Layout) -> Iterator[Problem]:
    """Sequence parallelism and padding-free rows are not there for every ``rlhf_type``."""
    if kind is None:
        return
    split = layout.context
    if (split.value or 1) > 1 and kind not in _SPLIT:
        reason = f"{split.key} {shown(split.value)}: rlhf_type {kind} does not take sequence parallelism"
        yield _refused(reason, split, config.place("rlhf_type"), help="set it to 1")
    for name in ("packing", "padding_free"):
        if config.flag(name) and kind not in _PADDING_FREE:
            reason = f"{name}: rlhf_type {kind} does not take it"
            yield _refused(reason, config.place(name), config.place("rlhf_type"), help=f"set {name} to false")


def _flash(config: Config) -> Iterator[Problem]:
    """Rows without padding want an attention that knows where each ends. 3.0 to 3.4 asked for none."""
    implementation = config.text("attn_impl")
    known = not config.count("attn_impl") or implementation is not None
    if config.has("train_type") or not known or implementation in _FLASH:
        return
    for name in ("packing", "padding_free"):
        if config.flag(name):
            yield _refused(
                f"{name} needs a flash attention, and attn_impl is {implementation or 'not set'}",
                config.place(name),
                config.place("attn_impl"),
                help="set attn_impl to flash_attn",
            )
            return


def _devices(config: Config, launch: Launch, kind: str | None) -> Iterator[Problem]:
    """More visible devices than processes: each process spreads the model over its share, which engines refuse."""
    text = launch.environment.get("CUDA_VISIBLE_DEVICES", "")
    single = launch.environment.get("SWIFT_SINGLE_DEVICE_MODE") == "1" or config.flag("use_ray")
    if launch.launcher not in ("swift", "torchrun") or single or not _LISTED.fullmatch(text):
        return
    own = on_each_node(config, launch)
    visible = text.count(",") + 1
    if own.value is None or own.value < 1:
        return
    each, rest = divmod(visible, own.value)
    listed = unknown(f"CUDA_VISIBLE_DEVICES={text}", key="CUDA_VISIBLE_DEVICES")
    share = (
        f"CUDA_VISIBLE_DEVICES lists {shown(visible)} for {shown(own.value)} process{'' if own.value == 1 else 'es'}"
    )
    if rest:
        reason = f"{share}: they cannot be shared out evenly"
        yield _refused(reason, own, listed, help="list as many devices as NPROC_PER_NODE, or a multiple")
        return
    engine = next(
        (name for name in _WHOLE_DEVICES if config.has(name) and config.text(name) not in ("False", "false")), None
    )
    engine = engine or ("use_vllm" if kind in ("grpo", "gkd") and config.flag("use_vllm") else None)
    if each > 1 and engine is not None:
        yield _refused(
            f"{share}: the model is spread over {shown(each)} devices (device_map), which {engine} does not go with",
            own, config.place(engine), listed,
            help=f"set NPROC_PER_NODE={shown(visible)}, one process for each device",
        )  # fmt: skip


def _refused(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)
