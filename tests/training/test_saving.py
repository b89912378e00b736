"""Activations that are computed again where the network can, and refused where it is asked and cannot."""

import logging

import pytest
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, PreTrainedModel

from figlang.config import MethodConfig
from figlang.errors import FiglangError
from figlang.training import saving

SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


def unable() -> PreTrainedModel:
    return MPNetModel(MPNetConfig(vocab_size=8, **SIZES))


def able() -> PreTrainedModel:
    return BertModel(BertConfig(vocab_size=8, **SIZES))


def test_an_open_setting_is_what_the_network_can(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert saving.settled(able(), MethodConfig(checkpointing=None)).checkpointing is True
    assert not caplog.messages
    assert saving.settled(unable(), MethodConfig(checkpointing=None)).checkpointing is False
    (line,) = caplog.messages
    assert line.startswith("method.checkpointing=false: MPNetModel")


@pytest.mark.parametrize("wanted", [True, False])
def test_a_setting_stays(wanted: bool) -> None:
    method = MethodConfig(checkpointing=wanted)
    assert saving.settled(unable(), method) == method


def test_a_network_that_cannot_is_refused() -> None:
    for check in (saving.check, saving.begin):
        check(able(), MethodConfig(checkpointing=True))
        with pytest.raises(FiglangError, match="checkpointing=true is not possible with MPNetModel"):
            check(unable(), MethodConfig(checkpointing=True))
        check(unable(), MethodConfig(checkpointing=None))
