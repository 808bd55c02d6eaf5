"""NeMo's models outside Megatron (speech, and small text models): a batch size per device, or caps that only the data can turn into a number of utterances.

    B = train_ds.batch_size x devices x trainer.accumulate_grad_batches

Upstream: NVIDIA/NeMo, nemo/collections/common/data/lhotse/dataloader.py (determine_sampling_constraint), nemo/
collections/asr/data/audio_to_text_dataset.py (get_chain_dataset, calc_bucketing_batch_sizes). Training is Lightning's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.documents.nodes import Mapping, Sequence
from effbatch_lint.frameworks.parts.lightning.strategy import layout, strategy
from effbatch_lint.terms import Term, exact, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_SECTIONS = ("model.train_ds", "data.train_ds", "model.data.train_ds")
_AUDIO = ("model.preprocessor", "model.sample_rate", "sample_rate", "model.encoder.feat_in", "model.n_mel_channels")
_SIZES = ("batch_size", "dataloader_params.batch_size", "dataloader.batch_size", "batch_sampler.batch_size")
# Lhotse's caps beside a number of rows: what they count, and whether only multimodal sampling reads them.
_CAPS = (("batch_duration", "seconds", False), ("batch_tokens", "tokens", True))


def is_speech(config: Config) -> bool:
    """Whether there is a training set with a batch size of its own, or with a cap that replaces one."""
    return _section(config) is not None


def speech_batch(config: Config, world: Term, launch: Launch) -> Batch:
    """The batch of one device times the replicas; nothing says how long an utterance is."""
    nodes = config.integer("trainer.num_nodes", default=1)
    per_node = launch.devices_per_node if launch.devices_per_node.known else exact(world, nodes)
    chosen = strategy(config, ("trainer.",))
    section = _section(config) or _SECTIONS[0]
    size, problems = _utterances(config, section)
    return Batch(
        micro=size,
        accumulation=config.integer("trainer.accumulate_grad_batches", default=1),
        layout=layout(config, chosen, world, per_node, nodes),
        unit="utterances" if config.has(f"{section}.sample_rate", *_AUDIO) else "samples",
        problems=problems,
    )


def _section(config: Config) -> str | None:
    for section in _SECTIONS:
        keys = (*_SIZES, *(cap for cap, _, _ in _CAPS), "bucket_batch_size", "bucketing_batch_size")
        if isinstance(config.node(section), Mapping) and config.has(*(f"{section}.{key}" for key in keys)):
            return section
    return None


def _utterances(config: Config, section: str) -> tuple[Term, tuple[Problem, ...]]:
    """Utterances of one device and forward pass; unknown where they depend on their lengths."""
    size = config.integer(*(f"{section}.{key}" for key in _SIZES))
    if config.flag(f"{section}.use_lhotse"):
        return _by_lhotse(config, section, size), ()
    if not config.has(f"{section}.bucketing_batch_size"):
        return size, ()
    buckets = _placed(config, f"{section}.bucketing_batch_size", _bucketed(config, f"{section}.bucketing_batch_size"))
    if size.value in (None, 1):
        return buckets, ()
    return buckets, (
        Problem(
            "EB304",
            f"{size.key} is {shown(size.value)}, and must be 1 where bucketing_batch_size gives each bucket its own",
            (size, buckets),
            refuses=True,
            help=f"set {size.key} to 1",
        ),
    )


def _by_lhotse(config: Config, section: str, size: Term) -> Term:
    buckets = f"{section}.bucket_batch_size"
    if config.has(buckets):
        return _placed(config, buckets, "each bucket has a batch size of its own (bucket_batch_size)")
    multimodal = config.flag(f"{section}.use_multimodal_sampling")
    for name, unit, needs_multimodal in _CAPS:
        key = f"{section}.{name}"
        if config.has(key) and multimodal is needs_multimodal:
            rows = f" and {shown(size.value)} utterances" if size.known else ""
            reason = (
                f"a device takes up to {config.text(key)} {unit}{rows} at a time: how many depends on their lengths"
            )
            return _placed(config, key, reason)
    return size


def _bucketed(config: Config, key: str) -> str:
    sizes = config.node(key)
    if isinstance(sizes, Sequence):
        return f"each of the {len(sizes.items)} buckets has a batch size of its own"
    return (
        f"the longest bucket has {config.text(key)} utterances, the next ones twice as many, three times as many, ..."
    )


def _placed(config: Config, key: str, reason: str) -> Term:
    origin = config.origin(key)
    return unknown(f"{key}: {reason}", *([origin] if origin else []), key=key)
