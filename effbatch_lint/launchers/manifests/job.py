"""What the manifests share: YAML scalars as shell text, environment lists, and the commands of a container."""

from __future__ import annotations

import re
from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.shell import script as shell
from effbatch_lint.documents.shell.command import Command
from effbatch_lint.documents.shell.directives import Directives
from effbatch_lint.documents.shell.said import set_when_running
from effbatch_lint.documents.shell.text import Piece, Text, spaced, unknowable, written
from effbatch_lint.launchers.script import peeled, started
from effbatch_lint.launchers.start import Job, Said, Start
from effbatch_lint.source import Source, Span

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.files import Files
    from effbatch_lint.launch import Allocation, Launch
    from effbatch_lint.terms import Origin, Term

DEVICES = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "google.com/tpu",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "gpu.intel.com/i915",
)


class Manifest(NamedTuple):
    """A manifest at work: its configuration, its file, the project, the variables that a caller gives."""

    config: Config
    source: Source
    files: Files | None
    given: AbstractMapping[str, Text]

    def text(self, node: Node) -> Text:
        """A scalar as shell text, every character at its place in the file."""
        return scalar_text(node, self.source) if isinstance(node, Scalar) else Text()

    def environment(self, *nodes: Node | None) -> dict[str, Text]:
        """Variables as manifests list them: a mapping, ``- name: X``/``value: 1``, ``- X=1``. A caller's values win."""
        found: dict[str, Text] = {}
        for node in nodes:
            if isinstance(node, Mapping):
                found.update({key: self.text(entry.value) for key, entry in node.entries.items()})
            elif isinstance(node, Sequence):
                for item in node.items:
                    found.update(self._variable(item))
        return {**found, **self.given}

    def _variable(self, item: Node) -> dict[str, Text]:
        if isinstance(item, Scalar):
            text = self.text(item)
            name, equals, _ = text.chars.partition("=")
            return {name: text.slice(len(name) + 1)} if equals else {}
        if isinstance(item, Mapping):
            name_node, value = item.get("name"), item.get("value")
            if isinstance(name_node, Scalar) and isinstance(value, Scalar):
                return {name_node.text: self.text(value)}
            if isinstance(name_node, Scalar):
                return {name_node.text: unknowable(f"${name_node.text}", "the cluster sets it", filled=True)}
        return {}

    def job(self, allocation: Allocation | None) -> Job:
        """The job that the manifest's commands run in."""
        return Job(self.files, self.source, Directives(), allocation)

    def of_words(
        self, words: list[Text], environment: AbstractMapping[str, Text], allocation: Allocation | None
    ) -> list[Launch]:
        """The launches of a command given as words."""
        if not words:
            return []
        command = Command(tuple(words), environment, words[0].place(), self.source.path)
        return list(peeled(Said().start(command, self.job(allocation))))

    def of_script(
        self,
        text: Text,
        environment: AbstractMapping[str, Text],
        allocation: Allocation | None,
        said: Said | None = None,
    ) -> list[Launch]:
        """The launches of a command given as shell text."""
        followed = shell.follow(text, self.source, self.files, environment=environment)
        return started(followed, self.source, self.files, allocation=allocation, said=said).launches


def scalar_text(scalar: Scalar, source: Source) -> Text:
    """The text of a YAML scalar in pieces, each at its place.

    Block and quoted scalars indent, fold and escape; each run of characters is looked for from where the one before
    it ended, so that only what was folded or escaped has no exact place.
    """
    span = scalar.span
    if span is None:
        return written(scalar.text)
    lines = source.text.split("\n")
    line, column = span.line, span.column - 1
    pieces: list[Piece] = []
    for run in re.findall(r"\S+|\s+", scalar.text):
        if run.isspace():
            pieces.append(Piece(run))
            continue
        while line <= min(span.end_line, len(lines)):
            at = lines[line - 1].find(run, column)
            if at >= 0:
                pieces.append(Piece(run, (Span(span.path, line, at + 1, line, at + 1 + len(run)),), exact=True))
                column = at + len(run)
                break
            line, column = line + 1, 0
        else:
            return written(scalar.text, span)
    return Text(pieces)


def words_of(manifest: Manifest, *nodes: Node | None, environment: AbstractMapping[str, Text]) -> list[Text]:
    """A container's ``command`` and ``args``; ``$(NAME)`` in them is put in by Kubernetes."""
    found: list[Text] = []
    for node in nodes:
        items = node.items if isinstance(node, Sequence) else [] if node is None else [node]
        found.extend(_expanded(manifest.text(item), environment) for item in items if isinstance(item, Scalar))
    return found


def _expanded(text: Text, environment: AbstractMapping[str, Text]) -> Text:
    out, start = [], 0
    for found in re.finditer(r"\$\(([A-Za-z_]\w*)\)", text.chars):
        value = environment.get(found[1])
        if value is not None:
            out += [text.slice(start, found.start()), value]
            start = found.end()
    return Text.joined([*out, text.slice(start)]) if out else text


def number_text(term: Term, name: str) -> Text:
    """A number as the variable that carries it into the job."""
    spans = term.spans
    if term.value is None:
        return unknowable(f"${name}", term.reason or "not known", *spans, filled=True)
    return written(str(term.value), *spans)


def running(name: str, who: str) -> Text:
    """A variable that is set when the job runs."""
    return unknowable(f"${name}", set_when_running(name, who), filled=True)


def container_devices(container: Config, key: str = "resources") -> Term | None:
    """The accelerators that a container asks for."""
    for kind in ("limits", "requests"):
        limits = container.section(f"{key}.{kind}")
        for name in DEVICES:
            if limits is not None and limits.has(name):
                return limits.integer(name)
    return None


def containers(config: Config, key: str) -> list[Config]:
    """The containers of a pod template at ``key``."""
    return [
        config.over(item, f"{key}.spec.containers.")
        for item in config.items(f"{key}.spec.containers")
        if isinstance(item, Mapping)
    ]


def alone(manifest: Manifest, launcher: str | None, allocation: Allocation, world: Term) -> Launch:
    """A manifest that states devices and starts nothing that is understood."""
    text = written("")
    start = Start((text,), Command((), {}, manifest.source.span(), manifest.source.path), manifest.job(allocation), {})
    start = start._replace(
        launcher=launcher, nodes=allocation.nodes, devices=allocation.devices_per_node, world_size=world
    )
    return start.launch(None, [])


def key_origin(config: Config, key: str) -> tuple[Origin, ...]:
    """Where a key was set."""
    origin = config.origin(key)
    return () if origin is None else (origin,)


def joined(manifest: Manifest, node: Node | None) -> Text | None:
    """A command as one text: a string, or a list of lines (dstack) or words (Determined)."""
    if isinstance(node, Scalar):
        return manifest.text(node)
    if isinstance(node, Sequence):
        return spaced([manifest.text(item) for item in node.items])
    return None
