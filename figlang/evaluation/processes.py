"""Evaluation by several processes: `torchrun --nproc-per-node N evaluate.py …`, or srun, shares the items
among them, and the first process reports."""

import atexit
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed

from figlang.errors import FiglangError, one_line
from figlang.types import Item

Part = TypeVar("Part")


@dataclass(frozen=True)
class Processes:
    """The processes of one evaluation. `rank` is the number of this process."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and reports."""
        return self.rank == 0

    def positions(self, items: Sequence[Item]) -> list[int]:
        """The positions of this process's items, in ascending order. Each group is given whole to one
        process, in turn, since backward choices need both items of a pair."""
        turns = {group: turn for turn, group in enumerate(dict.fromkeys(item.group for item in items))}
        return [position for position, item in enumerate(items) if turns[item.group] % self.size == self.rank]

    def gather(self, part: Part) -> list[Part]:
        """The parts of all processes, in the first process; an empty list in the others."""
        if self.size == 1:
            return [part]
        parts: list[Part | None] = [None] * self.size
        distributed.gather_object(part, parts if self.first else None)
        return [each for each in parts if each is not None]


def join() -> Processes:
    """Join the processes that torchrun or SLURM's srun started. Each has a GPU, if there are GPUs. Without
    them this process is alone.

    Raises FiglangError if they do not find each other.
    """
    if "WORLD_SIZE" not in os.environ and "SLURM_NTASKS" in os.environ:
        _join_slurm()
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return Processes()
    try:
        if not distributed.is_initialized():  # a multirun evaluates several times
            # gloo carries objects on any hardware. The first process waits for the slowest one, perhaps for
            # hours.
            distributed.init_process_group("gloo", timeout=timedelta(days=1))
            atexit.register(_leave)
    except (ValueError, RuntimeError) as error:
        world = os.environ["WORLD_SIZE"]
        raise FiglangError(
            f"WORLD_SIZE={world} is set, but the processes cannot be joined ({one_line(error)}); start them "
            "by torchrun"
        ) from error
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    return Processes(distributed.get_rank(), distributed.get_world_size())


def _join_slurm() -> None:
    """Name the processes of srun as torchrun does."""
    # Lightning takes seconds to import, and only a job of SLURM needs it here.
    from pytorch_lightning.plugins.environments import SLURMEnvironment

    if not SLURMEnvironment.detect():
        return
    place = SLURMEnvironment()
    names = {
        "RANK": place.global_rank(),
        "LOCAL_RANK": place.local_rank(),
        "WORLD_SIZE": place.world_size(),
    }
    os.environ.update({name: str(value) for name, value in names.items()})
    os.environ.update(MASTER_ADDR=place.main_address, MASTER_PORT=str(place.main_port))


def _leave() -> None:
    # If Python ends while gloo's threads still run, the process sometimes aborts.
    if distributed.is_initialized():
        distributed.destroy_process_group()
