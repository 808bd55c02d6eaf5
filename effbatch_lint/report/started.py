"""How a run is started: the command with everything resolved, where it stands, and on how many devices."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.launch import Argument, Launch

WIDTH = 100
# A command line of a thousand words is shown by its beginning.
MOST = 20


def lines(launch: Launch) -> Iterator[str]:
    """The command, wrapped, its place, and what must hold for it to run."""
    if launch.program is None and not launch.arguments:
        return
    where = f"{launch.script}:{launch.span.line}" if launch.span is not None and launch.script else launch.script or ""
    words = [*_launcher(launch), launch.program or "", *_words(launch.arguments)]
    text = " ".join(word for word in words if word)
    wrapped = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    yield f"  started in {where}:" if where else "  started by:"
    yield from (f"    {line}" for line in wrapped[:MOST])
    if len(wrapped) > MOST:
        yield f"    ... {len(wrapped) - MOST} more lines"
    for condition in launch.conditions:
        if condition.bare is False:
            yield f"  when {condition.text}"


def world(launch: Launch) -> str:
    """The devices of a run whose batch is not known."""
    size = launch.world_size
    if not size.known:
        return f"  world size    ?   {size.reason or ''}".rstrip()
    places = ", ".join(dict.fromkeys(span.where for span in size.spans))
    detail = ""
    if launch.nodes.known and launch.devices_per_node.known:
        nodes = "1 node" if launch.nodes.value == 1 else f"{shown(launch.nodes.value)} nodes"
        detail = f"   {nodes} x {shown(launch.devices_per_node.value)}"
    return f"  world size    {shown(size.value)}{detail}{'   ' + places if places else ''}"


def _launcher(launch: Launch) -> list[str]:
    """The launcher's own words; python alone, and console scripts that are the program themselves, are left out."""
    name = launch.launcher
    if name is None or (launch.program or "").startswith(name):
        return []
    return [name, *_words(launch.options)]


def _words(arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        if not argument.name:
            yield argument.text or ""
        elif argument.text is None:
            yield f"{argument.dashes}{argument.name}"
        else:
            equals = " " if argument.dashes.startswith("-") else "="
            yield f"{argument.dashes}{argument.name}{equals}{argument.text}"
