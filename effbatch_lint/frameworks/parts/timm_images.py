"""timm's images per process and forward pass: one number, or several that follow the resolution of each batch.

Upstream: huggingface/pytorch-image-models, train.py (which loader is made), timm/data/loader.py (create_loader: a batch size
for each size of the images), timm/data/naflex_loader.py (create_naflex_loader: a budget of batch size x longest length).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.naflex_rows import DIVISOR, lengths_of, naflex_rows
from effbatch_lint.frameworks.parts.several import several
from effbatch_lint.terms import Term, default, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

_SIZES, _BATCHES, _LENGTHS = "train-img-sizes", "train-batch-sizes", "naflex-train-seq-lens"


def images(args: Config) -> Term:
    """The images of one batch; unknown where they differ from batch to batch."""
    plain = args.integer("batch-size", default=128)
    if args.flag("naflex-loader"):
        return _of_patches(args, plain)
    if not args.has(_SIZES):
        return plain
    scheduled = lengths_of(several(args, _BATCHES))
    if len(scheduled) > 1:
        batches = ", ".join(shown(term.value) for term in several(args, _BATCHES))
        reason = f"the images of a batch follow its resolution ({_BATCHES} {batches})"
        return unknown(reason, *scheduled[0].origins, key=_BATCHES)
    return scheduled[0] if scheduled else plain


def image_checks(args: Config) -> Iterator[Problem]:
    """What create_loader refuses, what it leaves unread, and what a NaFlex loader rounds."""
    sizes, batches = several(args, _SIZES), several(args, _BATCHES)
    plain = args.integer("batch-size", default=128)
    if args.flag("naflex-loader"):
        rows = _of_patches(args, plain)
        if rows.known and plain.known and rows.value != plain.value:
            yield Problem(
                "EB303",
                f"batch-size {shown(plain.value)} is rounded to {shown(rows.value)}, a multiple of {DIVISOR}, by the "
                "NaFlex loader",
                (plain,),
                help=f"set it to a multiple of {DIVISOR}",
            )
    elif batches and not sizes:
        yield Problem(
            "EB305",
            f"--{_BATCHES} has no effect without --{_SIZES}: every batch has {shown(plain.value)} images",
            batches[:1],
            help=f"set --{_SIZES}, a size for each of them, or --batch-size",
        )
    elif batches and len(batches) != len(sizes) and all(term.known for term in (*sizes, *batches)):
        yield Problem(
            "EB304",
            f"--{_BATCHES} gives {len(batches):,} sizes of batches for {len(sizes):,} of images (--{_SIZES})",
            (batches[0], sizes[0]),
            refuses=True,
            help="give one for each",
        )


def _of_patches(args: Config, plain: Term) -> Term:
    """The rows of a NaFlex batch: the budget is the batch size at the longest of the lengths."""
    lengths = lengths_of(several(args, _LENGTHS))
    if len(lengths) != 1:
        reason = f"a NaFlex batch holds more than batch-size {shown(plain.value)} images where they are short"
        return unknown(reason, *plain.origins, key="batch-size")
    rows = naflex_rows(product(plain, lengths[0]), lengths[0], default(DIVISOR, "divisor"))
    return plain if rows.value == plain.value else rows.named("batch-size")
