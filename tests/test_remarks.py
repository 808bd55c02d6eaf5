"""What comments claim, what they do not, and whether the numbers beside them still give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effbatch_lint.batch import Batch, Layout, Stage, Unit
from effbatch_lint.source import Source, Span
from effbatch_lint.targets.remarks.claims import Claim, find_claims
from effbatch_lint.targets.remarks.staleness import judge, verdicts
from effbatch_lint.targets.remarks.words import meaning_of
from effbatch_lint.terms import Origin, Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.targets.remarks.verdict import Verdict


def claims(text: str, kind: str = "yaml") -> list[Claim]:
    return list(find_claims(Source("train.yaml", "/train.yaml", text), kind))


def shown(claim: Claim) -> str:
    """A claim in short: ``128 = 8 devices x 2 x 8 @8``; ``?`` an ambiguous total, ``T`` tokens, ``@2n`` nodes."""
    factors = " x ".join(f"{f.value.text} {f.meaning}" if f.meaning else f.value.text for f in claim.factors)
    parts = [
        f"{claim.total.words}{'?' if claim.ambiguous else ''}" if claim.total is not None else "",
        f"T {claim.tokens.text}" if claim.tokens is not None else "",
        f"= {factors}" if factors else "",
        f"@{'|'.join(map(str, claim.devices))}" if claim.devices else "",
        f"@{claim.nodes}n" if claim.nodes is not None else "",
    ]
    return " ".join(part for part in parts if part)


FORMS = [
    # a total alone
    ("# effective batch size = 64", "64"),
    ("a: 1 # Effective batch size: 64 sequences", "64 sequences"),
    ("# global batch of 2,048", "2,048"),
    ("a: 1 # GBS=128", "128"),
    ("a: 1  # gbs256", "256"),
    ("a: 1 # => effective batch 32", "32"),
    ("# total batch size ~256", "256"),
    ("# This gives an effective batch size of 1024 on 32 GPUs", "1024 @32"),
    ("# Effective batch size = 32 (adjust as needed)", "32"),
    ("# Total train batch size (w. parallel, distributed & accumulation) = 512", "512"),
    ("# for a total of 512 samples per batch", "512"),
    ("a: 4 # Effective: 64 total", "64"),
    ("# 全局批次大小: 64", "64"),
    # factors then product, product then factors
    ("# 8 GPUs x 2 x 8 = 128", "128 = 8 devices x 2 x 8 @8"),
    ("gradient_accumulation_steps: 8 # 128=16x(1)x8", "128 = 16 x 1 x 8"),
    ("gradient_accumulation_steps: 8 # 64=4x2x(8)", "64 = 4 x 2 x 8"),
    ("# Effective batch size: 4 * 32 * 1 GPU = 128", "128 = 4 x 32 x 1 devices @1"),
    ("# Global batch size = 128: per_device(2) x grad_accum(16) x gpus(4) = 128", "128 = 2 per device x 16 accumulation x 4 devices @4"),
    ("# Global Batch Size = 16 * 8(GPUs) * 4(Accum) = 512", "512 = 16 x 8 devices x 4 accumulation @8"),
    ("# batch size = 2 (per GPU) * 8 (GPUs) * 4 (grad accum) = 64", "64? = 2 per device x 8 devices x 4 accumulation @8"),
    ("# 4 GPUs x batch 4 x accumulation 4 = effective batch 64.", "64 = 4 devices x 4 batch x 4 accumulation @4"),
    ("# Effective batch 16   (per_device 1 x grad_accum 2 x 8 GPUs)", "16 = 1 per device x 2 accumulation x 8 devices @8"),
    ("# batch=4/GPU \u00d7 8 GPUs = effective batch 32", "32 = 4 per device x 8 devices @8"),
    ("# Batch size: 4 per GPU \u00b7 4 gradient accumulation \u00b7 2 GPUs = effective batch 32", "32 = 4 per device x 4 accumulation x 2 devices @2"),
    ("# 4 nodes * 8 gpus * 2 per device * 4 accumulation = 256", "256 = 4 nodes x 8 devices per node x 2 per device x 4 accumulation @32"),
    ("# 全局 batch = 4 x 8 x 8卡 = 256", "256 = 4 x 8 x 8 devices @8"),
    ("global_batch_size: 16  # dp8 x local_batch_size 1 x grad_accum 2", "16 = 8 replicas x 1 per device x 2 accumulation"),
    ("global_train_batch_size: 128 # 4 GPUs * 32", "128 = 4 devices x 32 @4"),
    ("global_train_batch_size: 64 # 4 GPUs * 32", "128 = 4 devices x 32 @4"),
    ("global_batch_size: 64 # 16 * 8 = 128", "128 = 16 x 8"),
    ("gradient_accumulation_steps: 8 # assuming training on 4 GPUs, 4*8=32", "32 = 4 x 8 @4"),
    # names first
    ("# total_samples_per_batch = num_gpus * grad_accum * per_device_batch_size = 8 * 32 * 4 = 1024", "1024 = 8 devices x 32 accumulation x 4 per device @8"),
    ("a: 1 # batch_size x num_nodes x 8 = 1024", "1024 = 8"),
    # conditions
    ("# Config for 8 nodes with GBS 128", "128 @8n"),
    ("a: 1 # effective batch size 128 with 4 nodes", "128 @4n"),
    ("gradient_accumulation_steps: 1 # -> 16 if 16 gpus", "16 @16"),
    ("# 64 GPUs -> effective batch 512", "512 @64"),
    ("a: 1 # designed for 8 GPUs, so batch size 128", "128? @8"),
    ("# Nodes: 4, GPUs per node: 8, micro batch 2, GBS 512", "512 = 2 micro @32"),
    ("# mbs 2, gbs 256, 64 gpus", "256 = 2 micro @64"),
    ("micro_batch_size: 4 # LBS 4 / GBS 16", "16 = 4 per device"),
    # tokens
    ("global_batch_size: 512 # 512 sequences = 1M tokens", "512 sequences T 1M"),
    ("global_batch_size: 1024 # ~4M tokens", "T 4M"),
    ("# 2^20 tokens per batch", "T 1048576"),
    ("micro_batch_size: 8 # GBS = 8*2*32*sequence_length = 512*sequence_length = 1M tokens", "512 T 1M = 8 x 2 x 32"),
    ("# Global batch size = 256 sequences = 0.5M tokens per step", "256 sequences T 0.5M"),
    ("# batch size 0.5M tokens", "T 0.5M"),
    # devices alone, where the file is said to be made for them
    ("# NOTE: this is a preset for 64 A100 GPUs.", "@64"),
    ("# trained on 96x 40GB A100", "@96"),
    ("# Config for 1 node of 8 x H100s (80GB)", "@8"),
    ("a: 1 # note, this is set up for 8 GPUs", "@8"),
    # one device
    ("batch_size: 4 # batch size per device 4", "= 4 per device"),
    ("batch_size: 4 # 4 per GPU", "= 4 per device"),
    ("# global batch size 16 per GPU", "= 16 per device"),
    ("# global batch of 4B tokens", "T 4B"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FORMS, ids=[text for text, _ in FORMS])
def test_a_claim(text: str, expected: str) -> None:
    assert [shown(claim) for claim in claims(text + "\n")] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        # the past, advice, questions, other trainings
        "# effective batch size reduced from 256 to 64",
        "# the global batch was 2048",
        "# global batch size must be a multiple of 64",
        "# use an effective batch size of 64 if memory allows",
        "# is the effective batch size 64?",
        "# the paper uses a batch size of 4M tokens",
        "# same global batch 256 as the official recipe",
        "# lr for batch size 256",
        "a: 1 # eval batch size 64",
        "# increase to get an effective batch size of 128",
        "# effective batch size is 8x larger",
        "# at least 8 GPUs, global batch 64 or more",
        "# not 8 x 4 = effective batch 32",
        "# effective batch size = 384 (must be divisible by 4 GPUs)",
        # another model, what was tried, a part of a run
        "# LLaMA used a batch size of 4M tokens",
        "# Llama 2 uses a global batch size of 4M tokens",
        "# as in OPT, global batch size 2M tokens",
        "# Qwen2.5 global batch size 256",
        "# DeepSeek-V3 global batch size 15360",
        "# 7B: global batch size 1024",
        "# for the 70b model: global batch size 256",
        "# on TPU v4-128: global batch size 256",
        "# diverged with batch size 512",
        "# training diverged with global batch size 512",
        "# loss spikes at global batch size 256",
        "# global batch size 256 gave nan",
        "# tried global batch size 256",
        "# was 256 before: global batch size",
        "# v1 had global batch size 256",
        "# until step 1000 global batch size 256",
        "# stage 1: global batch size 256",
        "# works with global batch size 256 too",
        "# critical batch size is 1M tokens",
        # devices, sizes and counts that are no batch
        "# 32 GPUs",
        "a: 1 # needs 8 GPUs to run",
        "# this was tested on 8xA100",
        "# 8 * 80GiB",
        "# 8*80G GPU, 16s/it",
        "# TP=4 * PP=4 = 16 GPUs = 2 nodes x 8 GPUs",
        "image_size: 224 # 224 x 224",
        "max_steps: 10 # 1000 * 64 * 8 = 512000",
        "max_duration: 515 # 135M tokens",
        "backbone: r50 # resnext50_32x4d with 8x8 windows",
        "num_workers: 4 # 4 x 8 = 32 processes",
        "port: 29500 # batch 1",
        "# 1M sequences = 2B tokens",
        "# 240 * 1024 = 245760",
        "batch_size: 32 # 32 x 8 = 256",
        "per_device_train_batch_size: 4 # batch size per device",
        # formulas and words that are not understood
        "# effective batch size = batch_size * num_gpus * accumulation",
        "# effective batch size = 32 * K",
        "# effective batch size = 1 * 16 * n_gpus",
        "# tokens / 4096 / 1728 steps",
        # code and commands
        "# batch_size: 64",
        "#GBS=128",
        "# global_batch_size=256",
        "# --micro-batch-size 1",
        "# python train.py batch_size=8 gpus=8",
        "a: 1 # grad accum = 1, since train.global_batch_size=256",
        "# tp=4, pp=4, dp=1. global_batch=4, local_batch=4",
        # two totals
        "# global batch 256 on 8 GPUs, global batch 512 on 16 GPUs",
        "key: '# effective batch size = 64'",
        "text: |\n  # effective batch size = 64",
    ],
)
def test_no_claim(text: str) -> None:
    assert [shown(claim) for claim in claims(text + "\n")] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# 8 GPUs\n# x 2 per device\n# x 8 accumulation\n# = 128\n", ["128 = 8 devices x 2 per device x 8 accumulation @8"]),
        ("# Batch size:\n#   per-device: 2\n#   grad accum: 8\n#   gpus: 8\n#   effective: 128\n", ["128 = 2 per device x 8 accumulation @8"]),
        ("# we train with an effective\n# batch size of 128 on\n# 64 GPUs.\n", ["128 @64"]),
        ("# The original recipe:\n# effective batch size 128\n", []),
        ("# if you change this,\n# keep the effective batch size = 128\n", []),
        ("# GBS 128. Reduce the micro batch when memory runs out.\n", ["128"]),
        ("# dp * mbs * ga = 4 * 8 * 16 = 512\n# dp * mbs * ga = 16 * 8 * 4 = 512\n", ["512 = 4 replicas x 8 micro x 16 accumulation", "512 = 16 replicas x 8 micro x 4 accumulation"]),
    ],
)  # fmt: skip
def test_blocks(text: str, expected: list[str]) -> None:
    assert [shown(claim) for claim in claims(text)] == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("toml", 'a = "# GBS 1" # effective batch size = 64\n'),
        ("json", '{"a": 1} // effective batch size = 64\n'),
        ("shell", "# effective batch size = 64\necho 'effective batch size = 1'\n"),
    ],
)
def test_formats(kind: str, text: str) -> None:
    assert [shown(claim) for claim in claims(text, kind)] == ["64"]


def test_the_span_of_a_claim() -> None:
    text = "a: 1\nb: 2  # note: 8 GPUs x 2 x 8 = 128, see the wiki\n"
    (claim,) = claims(text)
    line = text.split("\n")[claim.span.line - 1]
    assert line[claim.span.column - 1 : claim.span.end_column - 1] == "8 GPUs x 2 x 8 = 128" == claim.text
    assert not claim.beside_key


@pytest.mark.parametrize(
    ("key", "meaning"),
    [
        ("train_micro_batch_size_per_gpu", "micro"),
        ("train.global_batch_size", "total"),
        ("per_device_train_batch_size", "per device"),
        ("--gradient-accumulation-steps", "accumulation"),
        ("batch_size", "batch"),
        ("accumulate_grad_batches", "accumulation"),
        ("learning_rate", None),
        ("batch_size_schedule", None),
    ],
)
def test_meaning_of_keys(key: str, meaning: str | None) -> None:
    assert meaning_of(key) == meaning


@given(
    st.text(alphabet="0123456789x*=/()[]~^.,:-# kMGPUsbatch GBS effective of per gpu nodes accum tokens", max_size=60)
)
def test_any_comment_is_read_without_an_error(text: str) -> None:
    claims(f"gradient_accumulation_steps: 8 # {text}\n")


# -- verdicts ------------------------------------------------------------------------------------------------------


def read(value: int | None, key: str, line: int, path: str = "train.yaml") -> Term:
    if value is None:
        return unknown(f"{key} is not set", key=key)
    return Term(value, "read", (Origin(Span(path, line, 1, line, 2), key),), key=key)


def batch(
    micro: int | None = 4,
    accumulation: int | None = 8,
    world: int | None = None,
    *,
    tensor: int = 1,
    stated: bool = False,
    unit: Unit = "sequences",
    length: int | None = None,
    whole: int | None = None,
    tokens_at_most: bool = False,
    group: int | None = None,
    schedule: tuple[Stage, ...] = (),
    line: int = 1,
    path: str = "train.yaml",
) -> Batch:
    """A batch; its world size comes from ``--world-size``, or from the same file (``stated``)."""
    given = Term(world, "declared", (Origin(None, "world_size", f"--world-size {world}"),))
    devices = read(world, "world_size", 9, path) if stated else given if world is not None else unknown("no launcher")
    return Batch(
        micro=read(micro, "micro_batch_size", line, path),
        accumulation=read(accumulation, "gradient_accumulation_steps", 2, path),
        layout=Layout.of_world(devices, tensor=read(tensor, "tp", 3)),
        sequence_length=read(length, "seq_len", 4) if length is not None else None,
        unit=unit,
        sequences_per_item=2 if unit == "pairs" else 1,
        global_batch=read(whole, "global_batch_size", 1, path) if whole is not None else None,
        tokens_bound="at most" if tokens_at_most else "exact",
        items_per_prompt=read(group, "num_generations", 6) if group is not None else None,
        schedule=schedule,
    )


def verdict(text: str, of: Batch) -> Verdict | None:
    (claim,) = claims(text + "\n")
    return judge(claim, of)


@pytest.mark.parametrize(
    ("text", "of"),
    [
        # 4 x 8 x devices
        ("# effective batch size = 256", batch(world=8)),
        ("# 8 GPUs x 4 x 8 = 256", batch()),
        ("# 8 GPUs x 4 x 8 = 256", batch(world=8)),
        ("# GBS 256 on 1 node", batch()),
        ("# GBS 512 on 2 nodes", batch(world=16)),
        ("# effective batch size = 1024", batch()),  # 32 replicas would do
        ("# effective batch size = 32", batch(world=8)),  # of one device; the 8 stand in no file
        ("# 64 GPUs, effective batch 512", batch(tensor=4)),
        ("# global batch 1K", batch(world=32)),
        ("# effective batch size ~250", batch(world=8)),
        ("# GBS 256 = 1M tokens", batch(world=8, length=4096)),
        ("# 2^20 tokens per batch", batch(world=8, length=4096)),
        ("# ~1M tokens per step", batch(world=8, length=4096)),
        ("# 500k tokens per step", batch(world=8, length=2048)),
        ("# 4M tokens per step", batch(world=8, length=32768, tokens_at_most=True)),  # padding may leave half of it
        ("# 4M tokens per step", batch(world=8)),
        ("# designed for 8 GPUs, so batch size 4", batch()),  # one device's
        ("# designed for 8 GPUs, so batch size 32", batch()),
        ("# designed for 8 GPUs, so batch size 256", batch()),
        ("# global batch 64 prompts", batch(world=8, unit="completions", group=4)),
        ("# global batch 64", batch(world=8, unit="completions", group=4)),
        ("# global batch 77", batch(world=8, unit="completions")),  # prompts or completions, and nobody knows how many
        ("# effective batch 512", batch(world=8, unit="pairs")),  # 256 pairs are 512 sequences
        ("# effective batch 99 images", batch(world=8, unit="tokens")),
        ("# global batch 512", batch(whole=512)),
        ("# global batch 128", batch(world=8, schedule=(Stage(0, "samples", read(128, "ramp", 7)),))),
        ("# GBS 512 on 16 GPUs", batch(world=8)),  # made for another number of devices than this job has
        ("# GBS 77 on 16 GPUs", batch(world=8)),
        ("# 2 x 8 x 8 = effective batch 128", batch()),  # factors without a name, devices unknown
        ("# preset for 64 A100", batch(world=8)),
        ("# preset for 64 A100", batch(world=64, stated=True)),
        ("# preset for 8 A100", batch(world=64, stated=True)),  # of one node
        ("# trained on 256 GPUs", batch(world=64, stated=True)),
        ("# Config for 2 nodes", batch(world=16, stated=True)),
        ("# effective batch size = 64", batch(micro=None)),
        ("# effective batch size = 77", batch(path="other.yaml")),  # beside other numbers
        ("micro_batch_size: 4 # effective batch size = 77", batch(line=30)),  # beside a key that does not count
        ("# per device batch 32", batch()),  # with the accumulation in it
        ("# per device batch 4", batch()),
        ("# batch size 16 per GPU", batch(world=8, stated=True)),  # of whose set-up it is said, nobody knows
        ("# global batch size 16 per GPU", batch(world=8, stated=True)),
        # the file itself states other devices than the claim is made for
        ("# on 64 GPUs the global batch size is 512", batch(world=8, stated=True)),
        ("# effective batch size 1024 on 64 GPUs", batch(world=8, stated=True)),
        ("# GBS 512 on 16 nodes", batch(world=8, stated=True)),
    ],
)  # fmt: skip
def test_holds_or_cannot_be_judged(text: str, of: Batch) -> None:
    assert verdict(text, of) is None


STALE = [
    ("# effective batch size = 128", batch(world=8), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("# effective batch size = 32", batch(world=8, stated=True), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("# effective batch size 128 on 8 GPUs", batch(world=8, stated=True), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("# effective batch size = 48", batch(), "and no whole number of replicas makes 48"),
    ("# GBS 512 on 1 node", batch(accumulation=2), "512 takes 64 replicas"),
    ("# GBS 128 on 8 GPUs", batch(), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("# designed for 8 GPUs, so batch size 128", batch(), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("# 8 GPUs x 2 per device x 8 = 128", batch(), "micro_batch_size is 4 (train.yaml:1), not 2"),
    ("# 8 GPUs x 2 x 8 = 128", batch(), "micro_batch_size is 4 (train.yaml:1), not 2"),
    ("# 8 GPUs x mbs 4 x ga 2 = 64", batch(), "gradient_accumulation_steps is 8 (train.yaml:2), not 2"),
    ("# 8 GPUs x 4 x 8 = 256", batch(world=16, stated=True), "world_size is 16 (train.yaml:9), not 8"),
    ("# mbs 2, ga 8", batch(), "micro_batch_size is 4 (train.yaml:1), not 2"),
    ("micro_batch_size: 4 # 2 per GPU", batch(), "micro_batch_size is 4 (train.yaml:1), not 2"),
    ("# 64 GPUs, effective batch 2048", batch(tensor=4), "4 x 8 x 16 = 512 sequences on 64 devices"),
    ("# 4M tokens per step", batch(world=8, length=4096), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("# 64M tokens per step", batch(world=8, length=4096, tokens_at_most=True), "4 x 8 x 8 = 256 sequences on 8 devices"),
    ("global_batch_size: 512 # 4 GPUs * 32", batch(whole=512, path="train.yaml", line=1), "global_batch_size is 512 sequences"),
    ("# global batch 1024", batch(whole=512), "global_batch_size is 512 sequences"),
    ("# preset for 64 A100", batch(world=48, stated=True), "made for 64 devices; it gives 48 devices"),
    ("# Config for 8 nodes", batch(world=4, stated=True), "made for 8 nodes; it gives 4 devices"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "of", "message"), STALE, ids=[text for text, *_ in STALE])
def test_stale(text: str, of: Batch, message: str) -> None:
    found = verdict(text, of)
    assert found is not None
    assert message in found.message
    assert not found.note
    assert found.span.line == 1


def test_the_message_quotes_the_comment_and_relates_the_stale_factor_first() -> None:
    found = verdict("# GBS 128 = 8 GPUs x mbs 2 x ga 8", batch())
    assert found is not None
    assert found.message == (
        'the comment says "GBS 128 = 8 GPUs x mbs 2 x ga 8"; micro_batch_size is 4 (train.yaml:1), not 2'
    )
    assert [term.key for term in found.related] == ["micro_batch_size", "gradient_accumulation_steps"]
    assert found.computed == "4 x 8 x 8 = 256 sequences on 8 devices"


def test_a_right_total_with_a_stale_factor_is_a_note() -> None:
    found = verdict("# 8 GPUs x mbs 8 x ga 4 = 256", batch())
    assert found is not None
    assert found.note
    assert found.message.endswith(
        "micro_batch_size is 4 (train.yaml:1), not 8, gradient_accumulation_steps is 8 (train.yaml:2), not 4; the total is right"
    )


def test_overridden_numbers_are_not_those_that_the_comment_speaks_of() -> None:
    (claim,) = claims("# effective batch size = 77\n")
    span = Span("train.yaml", 1, 1, 1, 2)
    by_hand = Term(4, "read", (Origin(None, "micro", "--override micro=4", (Origin(span, "micro"),)),))
    by_another_file = Term(
        4, "read", (Origin(span._replace(path="child.yaml"), "micro", None, (Origin(span, "micro"),)),)
    )
    for micro in (by_hand, by_another_file):
        assert judge(claim, Batch(micro=micro, accumulation=read(8, "ga", 2), layout=batch(world=8).layout)) is None


def test_another_comment_says_for_how_many_devices() -> None:
    found = claims("# this is set up for 8 GPUs\na: 1\n# effective batch size 128\n")
    assert [v.message for v in verdicts(found, [batch()])] != []
    assert verdicts(found, [batch(micro=2)]) == []
    assert verdicts(found, [batch(world=64)]) == []


def test_alternatives_in_one_block_are_not_judged() -> None:
    assert (
        verdicts(claims("# dp * mbs * ga = 4 * 8 * 16 = 512\n# dp * mbs * ga = 16 * 8 * 4 = 512\n"), [batch(world=8)])
        == []
    )


def test_a_claim_that_holds_for_one_batch_of_the_run_is_not_stale_for_the_others() -> None:
    found = claims("# effective batch size = 256\n")
    assert verdicts(found, [batch(micro=1, world=8), batch(world=8)]) == []
    assert len(verdicts(found, [batch(micro=1, world=8)])) == 1


@given(st.integers(1, 64), st.integers(1, 64), st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 4096))
def test_a_true_product_is_never_stale_and_a_wrong_one_always(
    micro: int, accumulation: int, devices: int, other: int
) -> None:
    right = micro * accumulation * devices
    of = batch(micro, accumulation, devices, stated=True)
    true = f"# effective batch size: {devices} GPUs x {micro} per device x {accumulation} accumulation = "
    assert verdict(f"{true}{right}", of) is None
    wrong = verdict(f"{true}{other}", of)
    near = other == right or (other >= 1000 and other % 100 == 0 and abs(other - right) * 20 <= other)
    assert (wrong is None) == near
