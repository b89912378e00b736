"""Low-rank adapters on any network, its new head trained beside them."""

from peft import LoraConfig, PeftModel, get_peft_model
from transformers import PreTrainedModel

from figlang.config import PeftConfig


def adapt(network: PreTrainedModel, peft: PeftConfig, heads: list[str]) -> PreTrainedModel | PeftModel:
    """The network with adapters on all linear layers of its encoder, or as it is for `peft=none`.

    `heads` are the modules on top of the encoder. They are trained and kept whole: PEFT has no task type for multiple
    choice and would freeze them without a word.
    """
    if peft.name == "none":
        return network
    config = LoraConfig(
        r=peft.r,
        lora_alpha=peft.alpha,
        lora_dropout=peft.dropout,
        target_modules="all-linear",
        exclude_modules=heads,
        modules_to_save=heads or None,
    )
    return get_peft_model(network, config)


def merge(network: PreTrainedModel | PeftModel) -> PreTrainedModel:
    """The plain network with the adapters added into its weights."""
    return network.merge_and_unload() if isinstance(network, PeftModel) else network
