"""What the rows of a NeMo 1 model are, and how long.

Upstream: NVIDIA/NeMo v2.0.0, nemo/collections/nlp/models/language_modeling (megatron_gpt_model.py: data.seq_length;
megatron_gpt_sft_model.py: data.train_ds.max_seq_length; megatron_retro_model.py), nemo/collections/vision and
nemo/collections/multimodal; NVIDIA/NeMo-Aligner for ``trainer.rm``, ``trainer.dpo`` and ``trainer.ppo``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config

_TUNING = "model.data.train_ds.max_seq_length"
_TRAINING = ("model.data.seq_length", "model.encoder_seq_length", "model.seq_length")
_TWO_LENGTHS = (
    "model.data.seq_length_dec", "model.data.train_ds.seq_length_dec", "model.pipeline_model_parallel_split_rank",
    "model.max_seq_length_dec",
)  # fmt: skip
_PICTURES = ("model.img_h", "model.unet", "model.unet_config", "model.first_stage_config", "model.image_size")
_IMAGE_TEXT = ("model.vision",)
_ALIGNMENT: tuple[tuple[str, Unit], ...] = (("trainer.dpo", "pairs"), ("trainer.ppo", "completions"))


def unit(config: Config) -> Unit:
    """What an item is: a row of tokens, unless the model has an image tower or an alignment trainer of its own."""
    if config.has(*_PICTURES):
        return "images"
    if config.has(*_IMAGE_TEXT):
        return "samples"
    if config.has("trainer.rm"):
        return "sequences" if config.text("model.reward_model_type") == "regression" else "pairs"
    return next((found for key, found in _ALIGNMENT if config.has(key)), "sequences")


def length(config: Config) -> tuple[Term | None, Term | None, Literal["exact", "at most"]]:
    """The tokens of a row; T where it is not B x that; and whether rows may be shorter."""
    if unit(config) in ("images", "samples"):
        return None, None, "exact"
    found = config.integer(_TUNING, *_TRAINING)
    if config.has("model.retro"):
        replaced = unknown(
            "the length of the preprocessed retrieval data replaces model.data.seq_length", *found.origins
        )
        return replaced, None, "exact"
    if config.has("model.data.hard_negatives_to_train"):
        return found, unknown("a sample is a query, its passage and hard negatives"), "at most"
    if config.has("model.perception", "model.pretrained_audio_model"):
        return found, unknown("the length limits the text, and the audio comes on top"), "at most"
    two = config.present(*_TWO_LENGTHS)
    named = config.text("name", "run.model_train_name") or ""
    if two is not None or "t5" in named or (config.has("model.encoder") and config.has("model.decoder")):
        return found, unknown("a sample has an encoder's and a decoder's sequence, of two lengths"), "at most"
    padded = config.flag("model.data.train_ds.pad_to_max_length") or not config.has("model.data.train_ds")
    return found, None, "exact" if padded and unit(config) == "sequences" else "at most"
