"""Settings by which a training needs less memory, of those that a run does not have yet."""

from figlang.config.verbs.train import TrainConfig

PARTS, AGAIN, ADAPTERS = "method.batch_size=auto", "method.checkpointing=true", "peft=lora"
SMALLER = "a smaller model"


def possible(config: TrainConfig) -> list[str]:
    """The settings that go with the others of a run, and that it does not have yet.

    Args:
        config: The options of the training.

    Returns:
        Words for a message. Those come first that usually help most.
    """
    method, trainer = config.method, config.trainer
    alone = trainer.strategy == "auto" and trainer.devices in ("auto", "1") and trainer.nodes in (None, 1)
    found = []
    if method.accumulate != "auto" and alone and not config.whole_steps:
        found.append(PARTS)
    if not method.checkpointing and trainer.strategy in ("auto", "ddp"):
        found.append(AGAIN)
    if config.peft.name == "none":
        found.append(ADAPTERS)
    if PARTS not in found and method.accumulate != "auto" and method.batch_size > 1:
        found.append(f"method.batch_size below {method.batch_size}")
    if not config.model.causal:
        found.append(f"model.max_length below {config.model.max_length}")
    return [*found, SMALLER]


def before_steps(config: TrainConfig) -> list[str]:
    """As `possible`, for memory that lacks outside of the steps, where it is the weights that take most."""
    adapted = config.model.causal and config.peft.name != "none"
    return [*(["model.dtype=bfloat16"] if adapted and config.model.dtype == "float32" else []), SMALLER]
