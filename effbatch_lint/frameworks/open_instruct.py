"""open-instruct: per_device_train_batch_size x gradient_accumulation_steps x replicas, in its own programs.

    finetune.py        B sequences, replicas = processes // sequence_parallel_size
    olmo_core_finetune.py      B full rows of max_seq_length, replicas = processes / cp_degree
    dpo.py             B pairs, replicas = processes / (tensor x context x pipeline degrees)
    dpo_tune_cache.py  B pairs, replicas = processes, whatever degrees are given
    grpo_fast.py       B = prompts x samples per prompt / num_mini_batches completions, on the learners alone

Upstream: allenai/open-instruct, open_instruct/finetune.py (total_batch_size), open_instruct/dpo.py (global_batch_size),
open_instruct/dpo_utils.py (ExperimentConfig), open_instruct/dpo_tune_cache.py (total_batch_size), open_instruct/data_loader.py and grpo_utils.py (GRPO).

The keys are HF Trainer's, the loop is its own: nothing but these keys decides, and nothing is declared or checked but
the sequence-parallel degree. Published files state a batch in comments only. The processes are the launcher's
(``accelerate launch``, Beaker), except for GRPO, whose ``num_learners_per_node`` lists the learners of every node;
``per_device_train_batch_size`` then counts packed rows, and how many rows a step has depends on the completions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.accelerate_launch import processes
from effbatch_lint.terms import Term, exact, product, shown, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, ACCUMULATION = "per_device_train_batch_size", "gradient_accumulation_steps"
_OWN = (
    "use_slow_tokenizer", "with_tracking", "checkpointing_steps", "dataset_mix_dir", "dataset_mixer",
    "dataset_mixer_list", "mixer_list", "hf_metadata_dataset", "add_bos", "use_flash_attn", "num_epochs",
    "keep_last_n_checkpoints", "chat_template_name", "clean_checkpoints_at_end",
)  # fmt: skip
# What every training loop descended from accelerate's examples has.
_EXAMPLES = ("with_tracking", "checkpointing_steps")
# The DPO programs call the epochs num_epochs (olmo_core_utils.py, TrainingConfig), finetune.py num_train_epochs: a DPO
# file may have no other key of its own.
_PAIRS = (
    "beta", "dpo_beta", "loss_type", "dpo_loss_type", "gamma_beta_ratio", "dpo_use_paged_optimizer", "num_epochs",
)  # fmt: skip
_ROLLOUT = ("num_unique_prompts_rollout", "num_samples_per_prompt_rollout", "num_learners_per_node")


_PROGRAM = re.compile(r"(?:^|[/.])open_instruct[/.](finetune\w*|olmo_core_finetune|dpo\w*|grpo\w*)(?:\.py)?$")


def recognise(config: Config) -> int:
    """A batch of Trainer's names beside the keys of a training loop of its own; or a rollout."""
    config = undashed(config)
    if config.count(*_ROLLOUT) > 1:
        return config.count(*_ROLLOUT, "num_mini_batches", "response_length", "pack_length", MICRO)
    own = config.count(*_OWN)
    if own == config.count(*_EXAMPLES):
        return 0
    if own < 2 or not config.count("use_slow_tokenizer", "with_tracking", "hf_metadata_dataset", "mixer_list"):  # noqa: PLR2004 - one is a coincidence
        return 0
    return config.count(MICRO, ACCUMULATION) and own + config.count(MICRO, ACCUMULATION, "max_seq_length")


def starts(launch: Launch) -> bool:
    """The programs in the package's folder, or as modules."""
    return bool(_program(launch))


def _program(launch: Launch) -> str:
    """``finetune``, ``olmo_core_finetune``, ``dpo``, ``dpo_tune_cache``, ``grpo_fast``, ...; empty for any other."""
    found = _PROGRAM.search(launch.program or "")
    if found is None:
        # `mason.py --num_nodes 2 -- torchrun ... open_instruct/finetune.py`: a word of the line that submits the job.
        words = " ".join(argument.text or "" for argument in launch.arguments).split()
        found = next(filter(None, map(_PROGRAM.search, words)), None)
    return "" if found is None else found[1]


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch: sequences, pairs of the DPO programs (without a launch line: where their keys are), completions."""
    config, program = undashed(config), _program(launch)
    if program.startswith("grpo") or (not program and config.count(*_ROLLOUT) > 1):
        yield _rollout(config, launch)
        return
    pairs = program.startswith("dpo") if program else config.count(*_PAIRS) > 0
    world, on_core = _world(launch), program == "olmo_core_finetune"
    if on_core:
        layout = Layout.of_world(world, context=config.integer("cp_degree", default=1))
    elif program.startswith("dpo_tune"):
        layout = Layout.of_world(world)
    else:
        layout = _layout(config, world, pairs=pairs)
    yield Batch(
        micro=config.integer(MICRO, default=8),
        accumulation=config.integer(ACCUMULATION, default=1),
        layout=layout,
        sequence_length=config.integer("max_seq_length", default=4096) if on_core else _limit(config),
        unit="pairs" if pairs else "sequences",
        sequences_per_item=2 if pairs else 1,
        tokens_bound="exact" if on_core else "at most",
    )


def _world(launch: Launch) -> Term:
    if launch.accelerate is None or launch.world_size.known:
        return launch.world_size
    return processes(launch.accelerate)


def _layout(config: Config, world: Term, *, pairs: bool) -> Layout:
    """The processes that read different data; a remainder stops the run."""
    split = ("sequence_parallel_size", "context_parallel_degree") if pairs else ("sequence_parallel_size",)
    return Layout.of_world(
        world,
        tensor=config.integer("tensor_parallel_degree", default=1),
        pipeline=config.integer("pipeline_parallel_degree", default=1),
        context=config.integer(*split, default=1),
    )


def _limit(config: Config) -> Term:
    limit = config.integer("max_seq_length")
    return (
        limit
        if limit.known or limit.origins
        else limit._replace(reason="max_seq_length is not set: rows have no limit")
    )


def _rollout(config: Config, launch: Launch) -> Batch:
    """GRPO: what is generated is divided into mini batches, one optimizer step each."""
    prompts = config.integer("num_unique_prompts_rollout", default=16)
    samples = config.integer("num_samples_per_prompt_rollout", default=4)
    minibatches = config.integer("num_mini_batches", default=1)
    whole = exact(product(prompts, samples), minibatches).because(
        f"{shown(prompts.value)} prompts x {shown(samples.value)} samples / {shown(minibatches.value)} mini batches"
    )
    return Batch(
        micro=unknown("completions are packed: how many a micro batch holds depends on their lengths"),
        accumulation=unknown("the micro batches of a step depend on the lengths of the completions"),
        layout=Layout.of_world(_learners(config, launch), context=config.integer("sequence_parallel_size", default=1)),
        sequence_length=total(
            config.integer("max_prompt_token_length", default=256), config.integer("response_length", default=256)
        ),
        unit="completions",
        global_batch=whole,
        tokens_bound="at most",
        items_per_prompt=samples,
        profile="GRPO",
    )


def _learners(config: Config, launch: Launch) -> Term:
    """The devices that train, a number for every node; those that generate are others."""
    key = "num_learners_per_node"
    node, origin = config.node(key), config.origin(key)
    words = (
        [item.text for item in node.items if isinstance(item, Scalar)]
        if isinstance(node, Sequence)
        else node.text.strip("[] ").replace(",", " ").split()
        if isinstance(node, Scalar)
        else []
    )
    if not words or not all(word.isdecimal() and len(word) < 10 for word in words):  # noqa: PLR2004 - no node has that many
        return launch.world_size
    text = " + ".join(words)
    return Term(sum(map(int, words)), "derived", (origin,) if origin else (), f"{text} learners", key=key)


FRAMEWORK = Framework(
    name="open-instruct",
    formula="per_device_train_batch_size x gradient_accumulation_steps x (processes // sequence_parallel_size)",
    sources=(
        "allenai/open-instruct open_instruct/finetune.py",
        "allenai/open-instruct open_instruct/olmo_core_finetune.py",
        "allenai/open-instruct open_instruct/dpo.py",
        "allenai/open-instruct open_instruct/grpo_fast.py",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
    profiles=("GRPO",),
)
