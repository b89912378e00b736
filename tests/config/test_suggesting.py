"""Keys that people try first, and the key that each of them leads to."""

import pytest

from figlang.config import EvaluateConfig
from figlang.config.calling import options
from figlang.config.meanings import MEANINGS
from figlang.config.roots import ROOTS
from figlang.config.suggesting import keys_in, keys_of, meant, written
from figlang.errors import FiglangError


@pytest.mark.parametrize(
    ("verb", "typed", "wanted"),
    [
        ("train", "learning_rate", "method.lr"),
        ("train", "method.learning_rate", "method.lr"),
        ("train", "lr", "method.lr"),
        ("train", "batch", "method.batch_size"),
        ("evaluate", "batch", "batch_size"),
        ("train", "method.batch", "method.batch_size"),
        ("train", "epoch", "method.epochs"),
        ("train", "method.epoch", "method.epochs"),
        ("train", "max_steps", "method.epochs"),
        ("train", "lora", "peft=lora"),
        ("train", "model.lora", "peft=lora"),
        ("evaluate", "lora", "checkpoint=RUN"),
        ("train", "peft.rank", "peft.r"),
        ("train", "output", "run=FOLDER"),
        ("train", "output_dir", "run=FOLDER"),
        ("evaluate", "out", "output=FOLDER"),
        ("compare", "out", "output=FOLDER"),
        ("train", "model.path", "model=NAME, where NAME is a preset, a hub id or a folder"),
        ("evaluate", "ckpt", "checkpoint=RUN"),
        ("train", "dataset", "data"),
        ("train", "data.path", "data=FILE"),
        ("train", "data.val", "data.validation"),
        ("evaluate", "dev", "split=validation"),
        ("train", "data.label", "data.columns.gold"),
        ("train", "split", "data.train and data.validation"),
        ("train", "device", "trainer.accelerator"),
        ("train", "gpus", "trainer.devices"),
        ("train", "dtype", "trainer.precision or model.dtype"),
        ("evaluate", "dtype", "model.dtype"),
        ("train", "fp16", "trainer.precision=16-mixed"),
        ("evaluate", "bf16", "model.dtype=bfloat16"),
        ("train", "wandb", "logger=wandb"),
        ("train", "logger.wandb", "logger=wandb"),
        ("train", "method.max_length", "model.max_length"),
        ("evaluate", "model.price", "model.input_price and model.output_price"),
        ("evaluate", "price", "model.input_price and model.output_price"),
        ("evaluate", "model.base_url", "model.endpoint"),
        ("evaluate", "api_key", "model.key_env"),
        ("evaluate", "temperature", "protocol.temperature"),
        ("generate", "temperature", "sampling.temperature"),
        ("evaluate", "num_fewshot", "prompt.k"),
        ("train", "Learning-Rate", "method.lr"),
        ("train", "method.eppochs", "method.epochs"),
    ],
)
def test_the_usual_guesses_lead_to_the_key(verb: str, typed: str, wanted: str) -> None:
    group, _, key = typed.rpartition(".")
    assert meant(key, group, ROOTS[verb].schema) == wanted


@pytest.mark.parametrize("typed", ["surely_not", "model.colour", "compare", "model.precise"])
def test_nothing_near_is_no_guess(typed: str) -> None:
    group, _, key = typed.rpartition(".")
    assert meant(key, group, ROOTS["evaluate"].schema) is None


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("model", "model"),
        ("learning_rate", "method.lr"),
        ("lr", "method.lr"),
        ("output_dir", "run=FOLDER"),
        ("seed", "seed"),
        ("method.lr", "method.lr"),
        ("rename", "rename"),
    ],
)
def test_an_option_with_dashes_is_written_as_the_key(name: str, wanted: str) -> None:
    assert written(name, ROOTS["train"].schema) == wanted


@pytest.mark.parametrize("answer", sorted({each for answers in MEANINGS.values() for each in answers}))
def test_every_answer_names_keys_that_a_verb_has(answer: str) -> None:
    assert keys_in(answer)
    if answer != "shots":  # of a table of `reproduce`, whose options are in the benchmark's folder
        assert any(keys_in(answer) <= set(keys_of(root.schema)) for root in ROOTS.values())


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("model.price=3", "unknown key 'price'; did you mean model.input_price and model.output_price? (--h"),
        ("method=pmi", "method=pmi is not a preset; did you mean scoring=pmi? choose one of"),
        ("peft=lora", "unknown key 'peft'; did you mean checkpoint=RUN? (--help lists the keys)"),
        ("trainer=true", "trainer=true does not name a preset; choose one of auto, cpu"),
        ("model=minilmm", "; or give a hub id ORG/NAME, a folder with a slash (./NAME) or a FILE.gguf"),
    ],
)
def test_a_wrong_word_is_one_line(word: str, said: str) -> None:
    with pytest.raises(FiglangError) as refused:
        options("evaluate", EvaluateConfig, [word])
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
