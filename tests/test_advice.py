"""What a finding tells to type is true: every advised change in tests/cases is made, and the finding is gone."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
_ADVICE = re.compile(
    r'(?:help: |; or )(?P<override>--override )?(?P<flag>--)?"?(?P<key>[\w.-]+)"?(?P<sign>: | = |=| )(?P<value>\d+)'
    r"(?: in (?P<file>\S+))? (?:reaches (?!.*no longer)|for [\d,]+ \w+ of )"
)
_PLACE = re.compile(r"^(?P<path>\S+?):\d+:\d+: \w+\[(?P<code>EB\d+)\]", re.MULTILINE)


def advised() -> list[tuple[Path, str, re.Match[str]]]:
    """Each finding of a case with advice: the case, the finding's block, the advice."""
    found = []
    for output in sorted(CASES.glob("EB10[1235]/*/output.txt")):
        for block in re.split(r"\n\n", output.read_text(encoding="utf-8")):
            match = _ADVICE.search(block)
            if match is not None and "--output-format" not in block:
                found.append((output, block, match))
    return found


@pytest.mark.parametrize(
    ("output", "block", "advice"),
    [pytest.param(*case, id=f"{case[0].parent.parent.name}/{case[0].parent.name}") for case in advised()],
)
def test_the_advised_change_reaches_the_target(
    output: Path,
    block: str,
    advice: re.Match[str],
    run: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
) -> None:
    command = output.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("$ effbatch-lint ")
    work = tmp_path / "project"
    shutil.copytree(output.parent, work, ignore=shutil.ignore_patterns("output.txt"))
    (work / ".git").mkdir()
    place = _PLACE.search(block)
    assert place is not None
    before = run(*shlex.split(command), cwd=work)[1]
    words = shlex.split(command)
    if advice["override"]:
        words = [
            word if not word.startswith(f"{advice['key']}=") else f"{advice['key']}={advice['value']}" for word in words
        ]
    else:
        _write(work, advice, place["path"])
    after = run(*words, cwd=work)[1]
    message = block[block.index(f"[{place['code']}]") :].split("\n", 1)[0]
    assert message in before
    assert message not in after
    assert after.count("error[") < before.count("error[")


def _write(work: Path, advice: re.Match[str], shown: str) -> None:
    """Make the change in the file, as a person would: the key's number, or the flag's word, becomes the advised one."""
    last = re.escape(advice["key"].rpartition(".")[2])
    if advice["flag"] and advice["sign"] in ("=", " "):
        endings: tuple[str, ...] = (".sh", ".slurm")
        line = re.compile(rf"(?P<before>--(?:\S+\.)?{last}[= ])(?:\$\(\(.*?\)\)|\S+)")
    else:
        endings = (".yaml", ".yml", ".json", ".toml")
        line = re.compile(rf"(?P<before>(?:^|[\s{{,\"])(?:--)?{last}[\"']?\s*[:=]\s*)\d+", re.MULTILINE)
    files = [work / advice["file"]] if advice["file"] else [p for p in work.rglob("*") if p.suffix in endings]
    here = [path for path in files if path == work / shown and line.search(path.read_text(encoding="utf-8"))]
    files = here or files
    changed = 0
    for path in files:
        if path.name == "effbatch.toml":
            continue
        text, count = line.subn(rf"\g<before>{advice['value']}", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        changed += count
    assert changed == 1, advice[0]


LINE = "# effbatch: target=256\n{before}torchrun --nproc_per_node 8 train.py --output_dir out --num_train_epochs 2 {flags}\n"
DEEPSPEED = '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}}'
TRAINER = "output_dir: out\nnum_train_epochs: 2\nlearning_rate: 1e-5\nper_device_train_batch_size: 4\n"
LIGHTNING = "# effbatch: target=256\ntrainer: {devices: 8, precision: 16, max_epochs: 3, accumulate_grad_batches: 2}\n"


@pytest.mark.parametrize(
    ("files", "words", "advice"),
    [
        pytest.param(
            {
                "run.sh": LINE.format(
                    before="N=4\n", flags="--per_device_train_batch_size $N --gradient_accumulation_steps=$N"
                )
            },
            (),
            "--gradient_accumulation_steps 8 reaches 256 samples on 8 devices; or declare target=128",
            id="one variable for two flags: the flag is changed",
        ),
        pytest.param(
            {"run.sh": LINE.format(before="", flags="--per_device_train_batch_size 4")},
            (),
            "--gradient_accumulation_steps 8 reaches 256 samples on 8 devices; or declare target=32",
            id="a flag that is not there",
        ),
        pytest.param(
            {
                "run.sh": LINE.format(
                    before="", flags="--per_device_train_batch_size $BS --gradient_accumulation_steps 4"
                )
            },
            ("--override", "per_device_train_batch_size=4"),
            "--gradient_accumulation_steps 8 reaches 256 samples on 8 devices; or declare target=128",
            id="under an override",
        ),
        pytest.param(
            {
                "run.sh": LINE.format(before="", flags="--config conf.yaml --gradient_accumulation_steps 4"),
                "conf.yaml": TRAINER + "gradient_accumulation_steps: 16\n",
            },
            (),
            "--gradient_accumulation_steps 8 reaches 256 samples on 8 devices; or declare target=128",
            id="the flag lies over the key",
        ),
        pytest.param(
            {
                "run.sh": LINE.format(
                    before="",
                    flags="--deepspeed ds.json --per_device_train_batch_size 4 --gradient_accumulation_steps 4",
                ),
                "ds.json": DEEPSPEED,
            },
            (),
            "with these settings 256 samples take 16 devices; or declare target=128",
            id="a DeepSpeed JSON pins the same accumulation",
        ),
        pytest.param(
            {"run.yaml": LIGHTNING + "model: {a: 1}\ndata: {batch_size: 4}\n"},
            (),
            "trainer.accumulate_grad_batches: 8 reaches 256 samples on 8 devices; or declare target=64",
            id="a key of the config",
        ),
        pytest.param(
            {"run.yaml": LIGHTNING + 'model: {a: 1}\ndata: {batch_size: "${trainer.accumulate_grad_batches}"}\n'},
            (),
            "declare target=32",
            id="another number refers to it",
        ),
    ],
)
def test_the_change_is_tried_through_the_same_launch(
    files: dict[str, str], words: tuple[str, ...], advice: str, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, out, err = run("check", next(iter(files)), *words, cwd=tmp_path)
    assert (status, err) == (1, "")
    assert [line.strip() for line in out.splitlines() if "help:" in line] == [f"help: {advice}"], out
