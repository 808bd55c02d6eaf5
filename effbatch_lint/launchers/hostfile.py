"""Hostfiles: ``worker-0 slots=8``, a line per machine (DeepSpeed and Open MPI), and ``-H h1:8,h2:8``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell.script import locate
from effbatch_lint.documents.shell.text import Text, of_source
from effbatch_lint.source import Source, Unreadable, decode
from effbatch_lint.terms import Origin, Term, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start


class Host(NamedTuple):
    """A machine and its slots."""

    name: str
    slots: int
    origins: tuple[Origin, ...]


def read(start: Start, name: Text) -> list[Host] | None:
    """The hosts in the file that a flag names; None when the project holds no such file or it is no hostfile."""
    text = start.command.files.get(name.display)
    if text is None and start.job.files is not None:
        files = start.job.files
        path = locate(files, name, start.job.source.real, start.command.directory)
        if path is None:
            return None
        try:
            shown = files.shown(path)
            text = of_source(Source(shown, path, decode(files.content(path), shown)))
        except Unreadable:
            return None
    return None if text is None or not text.known else _hosts(text)


def _hosts(text: Text) -> list[Host] | None:
    hosts: list[Host] = []
    for line in text.split("\n"):
        content = line.chars.partition("#")[0].strip()
        if not content:
            continue
        found = re.fullmatch(r"(\S+)(?:\s+(?:slots|max_slots)\s*=\s*([0-9]{1,6}).*)?", content)
        if found is None:
            return None
        at = line.chars.find("=")
        place = line.place(at + 1 if at >= 0 else 0)
        hosts.append(Host(found[1], int(found[2] or 1), (Origin(place, "slots"),)))
    return hosts or None


def listed(value: Text, key: str) -> list[Host] | None:
    """The hosts of ``h1:8,h2:8``."""
    if not value.known:
        return None
    hosts = []
    for part in value.split(","):
        found = re.fullmatch(r"([^:\s]+)(?::([0-9]{1,6}))?", part.chars.strip())
        if found is None:
            return None
        place = part.place(max(part.chars.find(":") + 1, 0))
        hosts.append(Host(found[1], int(found[2] or 1), (Origin(place, key),)))
    return hosts


def nodes(hosts: list[Host]) -> Term:
    """The number of machines."""
    origins = tuple(origin for host in hosts for origin in host.origins)
    return Term(len(hosts), "derived", origins, f"{len(hosts)} hosts", None, "hostfile")


def slots(hosts: list[Host]) -> Term:
    """The slots of all machines."""
    return total(*(Term(host.slots, "read", host.origins, None, None, "slots") for host in hosts)).named("slots")


def slots_per_node(hosts: list[Host]) -> Term:
    """The slots of each machine, when they are the same."""
    origins = tuple(origin for host in hosts for origin in host.origins)
    if len({host.slots for host in hosts}) == 1:
        return Term(hosts[0].slots, "read", origins, None, None, "slots")
    return unknown("the hosts have different numbers of slots", *origins, key="slots")
