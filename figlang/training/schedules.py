"""The learning rate of each step, as a share of its peak."""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    get_constant_schedule,
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_wsd_schedule,
)

from figlang.config import MethodConfig


def schedule(method: MethodConfig, optimizer: Optimizer, steps: int) -> LambdaLR:
    """The schedule of a training.

    The linear one is that of Liu et al. (2022), whose first step has a rate above zero. The others are those
    of transformers, whose first step has rate zero if there is a warm-up.

    Args:
        method: Settings of the training.
        optimizer: Its optimizer.
        steps: Number of optimizer steps of the whole training.
    """
    rising = int(steps * method.warmup)
    if method.optimizer == "schedule_free":  # it has its own warm-up
        return get_constant_schedule(optimizer)  # type: ignore[no-any-return]
    if method.schedule == "cosine":
        return get_cosine_schedule_with_warmup(optimizer, rising, steps)  # type: ignore[no-any-return]
    if method.schedule == "constant":
        return get_constant_schedule_with_warmup(optimizer, rising)  # type: ignore[no-any-return]
    if method.schedule == "wsd":
        falling = int(steps * method.decay)
        return get_wsd_schedule(optimizer, rising, falling, num_training_steps=steps)  # type: ignore[no-any-return]
    return LambdaLR(optimizer, lambda step: lr_factor(step, steps, method.warmup))


def lr_factor(step: int, steps: int, warmup: float) -> float:
    """The learning rate of a step as a share of its peak.

    It rises linearly over the warm-up and then falls linearly to zero.
    """
    rising = int(steps * warmup)
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (steps - step) / max(1, steps - rising))
