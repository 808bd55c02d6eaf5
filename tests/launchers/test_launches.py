"""Launch lines and manifests -> who is started on how many devices: two tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from effbatch_lint.compose.config import Config
from effbatch_lint.files import Files
from effbatch_lint.launchers import manifest, script, written
from effbatch_lint.launchers.tree import config
from effbatch_lint.source import Source, Unreadable
from effbatch_lint.terms import number

if TYPE_CHECKING:
    from effbatch_lint.launch import Launch

HERE = Path(__file__).parent
SCRIPTS = yaml.safe_load((HERE / "launches.yaml").read_text(encoding="utf-8"))
MANIFESTS = yaml.safe_load((HERE / "manifests.yaml").read_text(encoding="utf-8"))


def launches(row: dict[str, Any], folder: Path) -> list[Launch]:
    for name, text in row.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / ("run.sh" if "script" in row else "job.yaml")
    path.write_text(row["script"] if "script" in row else row["text"], encoding="utf-8")
    files = Files(str(folder), base=str(folder))
    if "text" in row:
        return manifest.launches(files.document(str(path)), files, environment=row.get("env")).launches
    arguments = tuple(row["args"]) if "args" in row else None
    source = Source("run.sh", str(path), row["script"])
    started = script.launches(source, files, environment=row.get("env"), arguments=arguments)
    assert started.problems == []
    return started.launches


def fields(launch: Launch, names: list[str]) -> dict[str, object]:
    values = {name: getattr(launch, name) for name in names}
    return {
        name: value if isinstance(value, str) or value is None else number(value.value)
        for name, value in values.items()
    }


@pytest.mark.parametrize("row", [*SCRIPTS, *MANIFESTS], ids=lambda row: row["name"])
def test_table(row: dict[str, Any], tmp_path: Path) -> None:
    found = launches(row, tmp_path)
    expected = row["launches"] if "launches" in row else [row["launch"]]
    assert len(found) == len(expected), [(launch.program, launch.world_size.value) for launch in found]
    for launch, want in zip(found, expected, strict=True):
        assert fields(launch, list(want)) == want
        if launch.world_size.value is None:
            assert launch.world_size.reason
    if "overrides" in row:
        assert found[0].overrides == row["overrides"]
    if "lines" in row:
        assert sorted({span.line for span in found[0].world_size.spans}) == row["lines"]
    if "reason" in row:
        unknown = [launch.world_size.reason or "" for launch in found if launch.world_size.value is None]
        assert row["reason"] in unknown[0]


def test_arguments_are_a_configuration_with_places(tmp_path: Path) -> None:
    text = "BS=4\nTOTAL=$((BS * 8))\ntorchrun train.py --bs ${MICRO:-$BS} --total $TOTAL --bs 16 --flag --other $X\n"
    launch = launches({"script": text}, tmp_path)[0]
    read = config(launch)
    batch = read.integer("bs")
    assert batch.value == 16
    assert batch.origins[0].previous[0].span is not None
    assert batch.origins[0].previous[0].span.line == 1
    assert read.integer("total").value == 32
    assert read.integer("total").spans[0].line == 1
    assert read.flag("flag")
    assert read.integer("other").reason == "$X: the variable X is not given"


def test_a_default_is_marked(tmp_path: Path) -> None:
    launch = launches({"script": "torchrun --nnodes ${NODES:-2} --nproc_per_node 8 t.py\n"}, tmp_path)[0]
    assert launch.nodes.origins[0].note == "the default in ${NODES:-2}"


def test_what_the_scheduler_gives_stands_beside_what_the_launcher_takes(tmp_path: Path) -> None:
    text = "#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\nsrun torchrun --nnodes=2 --nproc_per_node=8 t.py\n"
    launch = launches({"script": text}, tmp_path)[0]
    assert launch.world_size.value == 16
    assert launch.allocation is not None
    assert launch.allocation.devices is not None
    assert launch.allocation.devices.value == 32
    assert [span.line for span in launch.allocation.devices.spans] == [1, 2]


def test_directives_after_the_first_command_are_kept_apart() -> None:
    text = "#SBATCH --nodes=4\necho go\n#SBATCH --nodes=8\n"
    started = script.launches(Source("run.sh", "/nowhere/run.sh", text))
    assert started.directives.options["nodes"].display == "4"
    assert [line.display for line in started.directives.late] == ["#SBATCH --nodes=8"]


def test_the_accelerate_file_carries_the_flags(tmp_path: Path) -> None:
    row = {
        "files": {"acc.yaml": "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 2\n"},
        "script": "accelerate launch --config_file acc.yaml --zero_stage 3 --gradient_accumulation_steps 4 t.py\n",
    }
    accelerate = launches(row, tmp_path)[0].accelerate
    assert accelerate is not None
    assert accelerate.path == "acc.yaml"
    assert accelerate.files == ["acc.yaml", "run.sh"]
    assert accelerate.integer("deepspeed_config.zero_stage").value == 3
    assert accelerate.integer("deepspeed_config.gradient_accumulation_steps").spans[0].path == "run.sh"
    assert accelerate.integer("num_processes").spans[0].path == "acc.yaml"


def test_files_that_a_line_names(tmp_path: Path) -> None:
    row = {
        "files": {"conf/train.yaml": "bs: 4\n", "conf/broken.json": "{"},
        "script": 'cat > $OUT/ds.json <<EOF\n{"train_batch_size": 32}\nEOF\n'
        "torchrun t.py --config $(pwd)/conf/train.yaml --deepspeed $OUT/ds.json --lost lost.yaml --bad conf/broken.json\n",
    }
    launch = launches(row, tmp_path)[0]
    files = Files(str(tmp_path), base=str(tmp_path))
    arguments = {argument.name: argument for argument in launch.arguments}
    train = written.named(launch, arguments["config"], files)
    assert train is not None
    assert train.source.path == "conf/train.yaml"
    own = written.named(launch, arguments["deepspeed"], files)
    assert own is not None
    batch = Config(own.mappings[0], "run.sh").integer("train_batch_size")
    assert (batch.value, batch.spans[0].path, batch.spans[0].line) == (32, "run.sh", 2)
    assert written.named(launch, arguments["lost"], files) is None
    with pytest.raises(Unreadable):
        written.named(launch, arguments["bad"], files)


def test_conditions_are_kept(tmp_path: Path) -> None:
    text = 'if [ "$MODE" = big ]; then torchrun --nnodes 2 t.py; fi\n'
    launch = launches({"script": text}, tmp_path)[0]
    assert [(each.text, each.holds, each.bare) for each in launch.conditions] == [('[ "$MODE" = big ]', True, False)]
    assert not launch.bare


def test_scripts_that_start_each_other_end(tmp_path: Path) -> None:
    row = {"files": {"other.sh": "bash run.sh\nbash other.sh\n"}, "script": "bash other.sh\ntorchrun t.py\n"}
    assert [launch.program for launch in launches(row, tmp_path)] == ["t.py"]
