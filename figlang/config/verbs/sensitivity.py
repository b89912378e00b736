"""The options of `sensitivity`."""

from dataclasses import dataclass
from typing import ClassVar

from figlang.config.section import words
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.errors import FiglangError


@dataclass
class SensitivityConfig(EvaluateConfig):
    """Ask a chat model about the same items in several wordings of the question, and say how much depends on
    the words."""

    kept_as: ClassVar[str | None] = "sensitivity"
    hides: ClassVar[bool] = True
    talks: ClassVar[bool] = True

    wordings: list[str] = words("Wordings by their names. Empty: the five of the task.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.checkpoint is None and not (self.model.causal or self.model.served):
            raise FiglangError(
                f"figlang sensitivity asks chat models, but {self.model.name} is an encoder; give a causal "
                "model, for example model=smollm2, or an endpoint"
            )
        if self.scoring is None or self.scoring.kind != "letter":
            raise FiglangError(
                "figlang sensitivity asks chat models; give protocol=letter, cot, two_step or logprobs"
            )
        if self.protocol is not None and self.protocol.kind == "score":
            raise FiglangError(
                "protocol=score asks no question that could be worded otherwise; use another protocol"
            )
