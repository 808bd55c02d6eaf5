"""A launch script -> the runs that it starts: each launch line with the configs that it names."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from effbatch_lint.call import Unread
from effbatch_lint.compose.config import Config
from effbatch_lint.compose.merge import environment
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.shell.interpretation import TOO_DEEP
from effbatch_lint.documents.shell.text import written
from effbatch_lint.frameworks.table import may_be_training
from effbatch_lint.launchers import script
from effbatch_lint.launchers.written import find
from effbatch_lint.project import candidates as of_documents
from effbatch_lint.project import launched as launch_lines
from effbatch_lint.project.on_devices import doubted
from effbatch_lint.project.one_run import merged
from effbatch_lint.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.call import Call, Read
    from effbatch_lint.documents.document import Document
    from effbatch_lint.launch import Argument, Launch
    from effbatch_lint.launchers.script import Started
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.project.launched import Launched
    from effbatch_lint.source import Span

# Files that the run's own config, and not the launch line, hands to an engine, under these flags.
_ENGINE = frozenset(("deepspeed", "deepspeed_config", "ds_config", "deepspeed_config_file", "config_deepspeed"))
# Flags whose files hold no settings of the run.
_DATA = re.compile(
    r"data|dataset|tokenizer|vocab|prompt|prefix|output|save|load|checkpoint|eval|test|valid|image", re.IGNORECASE
)
_CONFIG = re.compile(r"(?:^|[-_.])(?:config|cfg|conf|yaml|yml|recipe)(?:$|[-_.])", re.IGNORECASE)
# Hydra's; transformers' --config_name, with an underscore, is a model's.
_HYDRA_NAMES = ("config-name", "cn")


def candidates(document: Document, call: Call, read: Read) -> list[Candidate]:
    """The runs of a script or a manifest that a framework recognises, those of a bare run first.

    Where none is recognised, the launches are kept as recipes without a framework.
    """
    started = _started(document, call)
    found = _runs(started, document, call)
    # A healthy script may call itself deeper than it is followed: that is no fault of one that trains nothing.
    followed = [problem for problem in started.problems if TOO_DEEP not in problem.reason]
    if found or document.source.real in call.handed:
        trains = bool(found) or may_be_training(document.source.text.encode())
        read.errors.extend(started.problems if trains else followed)
    if not found:
        shown = document.source.path
        read.unread.append(Unread(shown, "starts no training program that is recognised"))
        read.recipes.extend(_unrecognised(launch, shown, call.options.overrides) for launch in started.launches)
    return _told_apart(found)


def _runs(started: Started, document: Document, call: Call) -> list[Candidate]:
    found: list[Candidate] = []
    for launch in started.launches:
        same = (other.world_size.value for other in started.launches if other.span == launch.span)
        sizes = frozenset(size for size in same if isinstance(size, int))
        line = launch_lines.of(launch, document, call.files)
        line = line._replace(alone=not started.beside - {launch.span}, sizes=sizes)
        for number, candidate in enumerate(runs(line, call)):
            again = partial(_again, document, call, (launch.span, number))
            found.append(candidate._replace(launched=(candidate.launched or line)._replace(again=again)))
    return found


def _again(document: Document, call: Call, which: tuple[Span | None, int], word: str | None) -> Candidate | None:
    """The run of a line, by its place and its number there, of the script followed with one more word, or doubted."""
    if word is not None:
        options = call.options._replace(overrides=(*call.options.overrides, word))
        call = call._replace(options=options)
    started = _started(document, call)
    if word is None:
        started = started._replace(launches=[doubted(launch) for launch in started.launches])
    place, number = which
    found = _runs(started, document, call)
    same = [c for c in found if c.launched is not None and c.launched.launch.span == place]
    return same[number] if number < len(same) else None


def _started(document: Document, call: Call) -> Started:
    words = call.options.overrides
    if document.kind != "shell":
        from effbatch_lint.launchers import manifest  # noqa: PLC0415 - a script needs none of the clusters' readers

        return manifest.launches(document, call.files, environment=environment(words))
    arguments = tuple(word.removeprefix("arg:") for word in words if word.startswith("arg:"))
    return script.launches(document.source, call.files, environment=environment(words), arguments=arguments or None)


def _told_apart(found: list[Candidate]) -> list[Candidate]:
    """Runs of one script, each named by its line; those that differ in nothing but the line's other words are one."""
    if len(found) < 2:  # noqa: PLR2004 - two runs
        return found
    bare = len({c.launched.launch.span for c in found if c.launched is not None and c.launched.launch.bare})
    out = []
    for candidate in found:
        line = candidate.launched
        assert line is not None
        span = line.launch.span
        name = f"{line.script.source.path}:{span.line}" if span is not None else line.script.source.path
        line = line._replace(alone=line.alone and bare < 2)  # noqa: PLR2004 - as above
        out.append(candidate._replace(launched=line, name=name))
    return out


def _unrecognised(launch: Launch, shown: str, words: tuple[str, ...]) -> Recipe:
    from effbatch_lint.documents.nodes import Mapping  # noqa: PLC0415 - only for what no framework reads

    config = Config(Mapping({}, None), shown, files=[shown], overrides=words)
    return Recipe(shown, config, None, launch, ())


def runs(line: Launched, call: Call) -> list[Candidate]:
    """The runs of one launch line: one, the jobs of a Hydra multirun, or none when no framework recognises it.

    Raises:
        Unreadable: a config that the line names cannot be read.
    """
    composed = _composed(line, call)
    if isinstance(composed, Config):
        line = line._replace(launch=line.launch._replace(settings=composed))
    elif composed:
        return composed
    found = _run(line, call)
    if found is None:
        return []
    _take_in(found.config, line)
    return [found]


def _take_in(config: Config, line: Launched) -> None:
    """The engine's file that the launcher hands over is a part of the run, also where the framework reads no number of it."""
    for option in line.launch.options:
        named = option.text if option.name.replace("-", "_") in _ENGINE else None
        document = line.find(named) if named else None
        if document is not None and document.source.path not in config.files:
            config.files.append(document.source.path)


def _run(line: Launched, call: Call) -> Candidate | None:
    """A trainer's config comes first, then the flags alone, then what an engine's or the launcher's own file says."""
    configs, engines = _named(line)
    found = [candidate for document in configs for candidate in _read(document, line, call)]
    trainers = [candidate for candidate in found if candidate.framework.role == "trainer"]
    if trainers:
        return _joined(trainers, configs, line, call)
    flags = line.script._replace(kind="shell", roots=[])  # a manifest's own keys are no flags
    alone = [] if _launcher_divides(line.launch) else _read(flags, line._replace(missing=tuple(_missing(line))), call)
    if alone and alone[0].framework.role == "trainer":
        return alone[0]
    found += [candidate for document in engines for candidate in _read(document, line, call)]
    engine = next((candidate for candidate in found if candidate.framework.role == "engine"), None)
    return engine or next(iter(alone or found), None) or _launcher(line, call)


def _launcher_divides(launch: Launch) -> bool:
    """Accelerate's Megatron-LM engine divides the processes itself; a program for it has a loop of its own, and no Trainer."""
    return launch.accelerate is not None and launch.accelerate.text("distributed_type") == "MEGATRON_LM"


def _composed(line: Launched, call: Call) -> list[Candidate] | Config:
    """The runs of a Hydra program, whose words choose and set what is in its tree; the config alone where no framework's."""
    if line.launch.arguments and not any(map(_is_hydras, line.launch.arguments)):
        return []
    from effbatch_lint.project.hydra_runs import runs as composed  # noqa: PLC0415 - few programs are Hydra's

    jobs = composed(line, call.options.overrides, call.handed, call.code.of(line.script.source.real))
    found = [
        candidate._replace(swept=job.swept, notes=job.notes, declaring=_parts(job.config, call))
        for job in jobs
        if (candidate := of_documents.recognised(job.config, job.texts, line, job.companions, call)) is not None
    ]
    return jobs[0].config if jobs and not found else found


def _parts(config: Config, call: Call) -> tuple[Document, ...]:
    """The files of a tree that a config is composed of."""
    return tuple(document for document in call.files.parsed_of(config.files) if document.kind == "yaml")


def _is_hydras(argument: Argument) -> bool:
    """Whether a word of a launch line may be one of Hydra's: ``key=value``, or the name of its config."""
    return bool(argument.name) and ("-" not in argument.dashes or argument.name in ("config-name", "cn", "config_name"))


def _read(document: Document, line: Launched, call: Call) -> list[Candidate]:
    return of_documents.candidates(document, call, line)


def _joined(trainers: list[Candidate], configs: list[Document], line: Launched, call: Call) -> Candidate:
    """Several files of one run as their framework joins them, recognised one by one or not; else the one that is."""
    first = trainers[0]
    if first.framework.merges is None or len(configs) == 1:
        return first
    forced = call._replace(forced=first.framework)
    return merged([candidate for document in configs for candidate in _read(document, line, forced)])


def _launcher(line: Launched, call: Call) -> Candidate | None:
    """What the accelerate file says of a program that is not known."""
    accelerate = line.launch.accelerate
    if accelerate is None or not accelerate.root.entries or accelerate.path == line.launch.script:
        return None
    document = line.find(accelerate.path)
    return next(iter(_read(document, line, call)), None) if document is not None else None


def _named(line: Launched) -> tuple[list[Document], list[Document]]:
    """The configs that a launch line names, in order: those of the program, and those of an engine under it."""
    configs: list[Document] = []
    engines: list[Document] = []
    for argument in line.launch.arguments:
        key = argument.name.replace("-", "_").rpartition(".")[2]
        if argument.text is None or (_DATA.search(key) and not _CONFIG.search(key)):
            continue
        for document in _documents(argument, line):
            kept = engines if key in _ENGINE else configs
            if document.mappings and all(document is not other for other in kept):
                kept.append(document)
    return configs, engines


def _documents(argument: Argument, line: Launched) -> Iterator[Document]:
    """The files behind an argument: one, or gpt-neox's ``-d FOLDER A.yml B.yml``."""
    launch = line.launch
    whole = argument.word or written(argument.text or "")
    folder = None
    for match in re.finditer(r"\S+", whole.chars):
        name = whole.slice(match.start(), match.end())
        tries = [name]
        if argument.dashes == "-" and argument.name == "d":
            tries = [written(f"{folder}/{name.display}{end}") for end in ("", ".yml")] if folder else []
            folder = folder or name.display
        elif argument.name == "config_file" and kind_of(name.display) is None:
            tries.append(written(f"{name.display}.toml"))  # sd-scripts adds the ending
        for each in tries:
            if kind_of(each.display) in ("yaml", "json", "toml") or each.display in launch.written:
                document = find(
                    each, line.project, launch.written, script=line.script.source, directory=launch.directory
                )
                if document is not None:
                    yield document
                    break


def _missing(line: Launched) -> Iterator[tuple[str, str]]:
    """Files that the line names and the project does not hold, configs and a script: whatever is absent may stand there."""
    program = line.launch.program or ""
    if kind_of(program) == "shell":
        yield "", program
    for at, argument in enumerate(line.launch.arguments):
        key = argument.name.replace("-", "_").rpartition(".")[2]
        if argument.text is None:
            continue
        kind = kind_of(argument.text)
        if not argument.name:
            # The command's own file (`swift sft train.yaml`) may be JSON; other words in JSON are data.
            named = kind in ("yaml", "toml") or (kind == "json" and at == 0)
            if named and next(_documents(argument, line), None) is None:
                yield "", argument.text
            continue
        if argument.name in _HYDRA_NAMES and argument.dashes:
            yield "", argument.text  # of a tree that the project does not hold, or it would have been composed
            continue
        says_config = _CONFIG.search(key) or (key, argument.dashes) == ("c", "-")
        if not says_config or key in _ENGINE or _DATA.search(key):
            continue
        if kind in ("yaml", "json", "toml") or re.search(r"^(config|recipe)(_file)?$", key):
            # torchtitan's `--module llama3 --config llama3_8b` is a registry in Python, which holds the training numbers.
            registry = any(other.name == "module" for other in line.launch.arguments)
            # Hydra's `a.b.tool_config_path=tools.yaml` is a setting of that section, and no config of the run.
            section = "" if argument.dashes else argument.name.rpartition(".")[0]
            yield "training" if registry else section, argument.text
