"""hydra-core itself as the oracle: the same values in the same order, or both refuse."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from effbatch_lint.compose.hydra import compose
from effbatch_lint.compose.values import plain
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable

REFUSED = "refused"

# Options of plug-ins that are not installed here: Hydra would refuse every tree that selects one.
for _group, _name in (
    ("hydra/job_logging", "colorlog"), ("hydra/hydra_logging", "colorlog"), ("hydra/sweeper", "optuna"),
    ("hydra/launcher", "submitit_slurm"),
):  # fmt: skip
    ConfigStore.instance().store(group=_group, name=_name, node={})


def theirs(folder: Path, primary: str, overrides: list[str], *, version_base: str = "1.3") -> Any:
    """What hydra.compose gives, as ordered pairs; or REFUSED."""
    GlobalHydra.instance().clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with hydra.initialize_config_dir(str(folder), version_base=version_base):
                composed = hydra.compose(primary, overrides=overrides)
            return pairs(OmegaConf.to_container(composed, resolve=False))
        except Exception:  # noqa: BLE001 - Hydra refuses with exceptions of several families, RecursionError among them
            return REFUSED


def ours(
    folder: Path, primary: str, overrides: list[str], *, version_base: str = "1.3", project: Path | None = None
) -> Any:
    """What effbatch-lint gives, in the same form."""
    files = Files(str(project or folder))
    try:
        composed = compose(files, [str(folder)], primary, overrides, legacy=version_base == "1.1")
    except Unreadable as error:
        return REFUSED if error.code in ("EB901", "EB902") else str(error)
    return pairs(plain(composed.root))


def reason(folder: Path, primary: str, overrides: list[str]) -> str:
    """Why effbatch-lint refuses, with the place; empty when it does not."""
    try:
        compose(Files(str(folder), base=str(folder)), [str(folder)], primary, overrides)
    except Unreadable as error:
        return str(error)
    return ""


def pairs(value: Any) -> Any:
    """The value with its types and the order of its keys visible to ==."""
    if isinstance(value, dict):
        return [(_key(key), pairs(item)) for key, item in value.items()]
    if isinstance(value, list):
        return ["list", *map(pairs, value)]
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return (type(value).__name__ if not isinstance(value, str) else "str", value)


def write(folder: Path, files: dict[str, str]) -> None:
    """A tree of ``.yaml`` files; a name that has an ending keeps it."""
    for name, text in files.items():
        path = folder / (name if "." in name.rpartition("/")[2] else f"{name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
