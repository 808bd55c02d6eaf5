"""Arguments of a program whose flags have hyphens: from a launch line, or parsed already (``verify(vars(args))``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import hyphenated, respelled

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch


def flags_of(config: Config, launch: Launch) -> Config:
    """The configuration under the names of the flags. On a line, a flag with underscores is another flag."""
    if launch.arguments or not any("_" in key for key in config.root.entries):
        return config
    return config.over(respelled([config.root], hyphenated))
