"""Where a monitor's numbers go besides its own file: TensorBoard, W&B, trackio, each only if it is named.

A package that is not installed is said at once, with the command that installs it. W&B and trackio take a run that the
trainer has open already; in W&B under a step axis of our own, because it drops what is behind the trainer's last step.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from prorubric.errors import MissingExtraError

_STEP = "prorubric/step"


class Writer(Protocol):
    """Takes the numbers of a step."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Pass one step on."""

    def close(self) -> None:
        """Let go; what was passed on is kept."""


def open_writer(name: str, folder: Path, project: str, run: str | None) -> Writer:
    """The writer of this name; TensorBoard's files go into a folder beside the jsonl file."""
    if name == "tensorboard":
        return _TensorBoard(folder / "tensorboard")
    return _Wandb(project, run) if name == "wandb" else _Trackio(project, run)


class _TensorBoard:
    def __init__(self, folder: Path) -> None:
        self._writer = _find_summary_writer()(str(folder))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class _Wandb:
    def __init__(self, project: str, run: str | None) -> None:
        wandb = _import("wandb", "W&B", "wandb")
        self._is_ours = wandb.run is None
        self._run = wandb.init(project=project, name=run) if self._is_ours else wandb.run
        self._run.define_metric(_STEP)
        self._run.define_metric("prorubric/*", step_metric=_STEP)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log({**values, _STEP: step})

    def close(self) -> None:
        if self._is_ours:
            self._run.finish()


class _Trackio:
    def __init__(self, project: str, run: str | None) -> None:
        self._trackio = _import("trackio", "trackio", "trackio")
        open_run = self._trackio.context_vars.current_run.get()
        self._is_ours = open_run is None
        self._run = self._trackio.init(project=project, name=run) if self._is_ours else open_run

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log({**values}, step=step)

    def close(self) -> None:
        if self._is_ours:
            self._trackio.finish()


def _find_summary_writer() -> Any:
    """Torch's writer or tensorboardX's: whichever is installed; they write the same files."""
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        try:
            return import_module(module).SummaryWriter
        except ImportError:
            continue
    raise _missing("TensorBoard", "tensorboardX")


def _import(module: str, feature: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise _missing(feature, package) from None


def _missing(feature: str, package: str) -> MissingExtraError:
    return MissingExtraError(f"{feature} needs a package that is not installed; install it with: pip install {package}")
