"""Every family of networks is trained, exported, read and merged, or is refused in one line with a remedy."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import BartConfig, BartForCausalLM

from figlang.config import MethodConfig, ModelConfig, PeftConfig, ScoringConfig, TrainConfig
from figlang.errors import FiglangError
from figlang.evaluation.choosing import predict
from figlang.models import checkpoint, networks
from figlang.release import merging
from figlang.scoring.encode import Encoder, padding
from figlang.scoring.head import scorer
from figlang.scoring.tree.causal import CausalScorer
from figlang.training.agreement import check
from figlang.training.embedding import restore, trim
from figlang.training.preparation import prepare
from figlang.types import Item, Split
from tests import causal_models
from tests.models.test_checkpoint import TEXTS

WARM = ("It was hot.", "It was cold and rather dark in every corner.")
SLOW = ("It was slow.", "It was fast.")
ITEMS = (
    Item("a", "p", "The room was an oven", WARM, 0),
    Item("b", "p", "The room was an igloo", WARM, 1),
    Item("c", "q", "Time crawled", SLOW, 0),
    Item("d", "q", "Time flew", SLOW, 1),
)
SPLIT = Split("train", ITEMS, "here", "0" * 64)
FAMILIES = (
    *(
        "albert",
        "bart",
        "bert",
        "big_bird",
        "bigbird_pegasus",
        "bloom",
        "camembert",
        "canine",
        "convbert",
        "ctrl",
        "deberta",
    ),
    *(
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "falcon",
        "flaubert",
        "fnet",
        "funnel",
        "gemma",
        "gpt2",
        "gpt_neo",
    ),
    *(
        "gpt_neox",
        "ibert",
        "led",
        "llama",
        "longformer",
        "luke",
        "mamba",
        "mbart",
        "megatron-bert",
        "mistral",
        "mobilebert",
    ),
    *(
        "modernbert",
        "mpnet",
        "mra",
        "mt5",
        "nystromformer",
        "openai-gpt",
        "opt",
        "perceiver",
        "phi",
        "qwen2",
        "rembert",
    ),
    *(
        "roberta",
        "roberta-prelayernorm",
        "roc_bert",
        "roformer",
        "squeezebert",
        "t5",
        "umt5",
        "xlm",
        "xlm-roberta",
        "xlnet",
        "yoso",
    ),
)
# What once was a traceback or wrong, with and without adapters where that differs.
QUICK = {
    ("dual", "gpt2", "none"),
    ("dual", "mpnet", "none"),
    ("dual", "t5", "none"),
    ("joint", "llama", "none"),
    ("pair", "longformer", "none"),
    ("pair", "llama", "none"),
    ("pair", "canine", "none"),
    ("causal", "qwen2", "none"),
}


def cases() -> list[object]:
    return [
        pytest.param(
            format, family, peft, marks=() if (format, family, peft) in QUICK else pytest.mark.faults
        )
        for format in ("pair", "joint", "dual", "causal")
        for family in FAMILIES
        for peft in ("none", "lora")
    ]


# torch and transformers have much to say about a hundred families.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("format", "family", "peft"), cases())
def test_a_family_works_or_is_refused(format: str, family: str, peft: str, tmp_path: Path) -> None:
    refusal = None
    try:
        work(format, family, peft, tmp_path)
    except FiglangError as error:
        refusal = str(error)
    assert refusal is None or ("\n" not in refusal and "damaged" not in refusal)


def work(format: str, family: str, peft: str, folder: Path) -> None:
    causal = format == "causal"
    config = TrainConfig(
        model=ModelConfig(
            name="tiny",
            init="tiny",
            architecture=family,
            family="causal" if causal else "encoder",
            bos="add" if causal else "none",
        ),
        method=MethodConfig(format="pair" if causal else format),
        scoring=ScoringConfig(name="answer", span="answer", norm="sum"),
        peft=PeftConfig() if peft == "none" else PeftConfig(name=peft, dropout=0.0),
    )
    check(config)
    ready = prepare(config, SPLIT, SPLIT)
    whole = None
    if not causal and peft == "none":
        used = {token for example in ready.examples for ids in example.sequences for token in ids}
        whole = trim(ready.network, used | {padding(ready.tokenizer)})
    module = ready.kind(ready.network.train(), config.method, ready.score, 10, 0)
    loss = module.loss(ready.collate(ready.examples))["loss"]
    loss.backward()
    with torch.no_grad():
        for parameter in ready.network.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    if whole is not None:
        restore(ready.network, whole)
    before = merging.scores_of(
        checkpoint.Loaded(ready.network.eval(), ready.tokenizer, ready.manifest), SPLIT
    )
    checkpoint.export(ready.network, ready.tokenizer, ready.manifest, folder / "model")
    again = merging.scores_of(checkpoint.load(str(folder / "model"), cache=str(folder)), SPLIT)
    assert again == pytest.approx(before, abs=1e-4)
    if peft != "none":
        merging.merge(checkpoint.load_unmerged(str(folder / "model")), SPLIT, folder / "whole")


@pytest.mark.parametrize(
    ("format", "family", "message"),
    [
        ("pair", "llama", r"no such class for llama; try method.format=joint or dual"),
        ("pair", "longformer", r"cannot read the input format pair \(.*\); try method.format=joint or dual"),
        ("dual", "t5", r"T5Model cannot read the input format dual \(.*\); try method.format=joint"),
    ],
)
def test_a_refusal_says_what_would_work(format: str, family: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FiglangError, match=message):
        work(format, family, "none", tmp_path)


def test_joint_takes_the_end_token_where_there_is_no_separator_and_never_the_word_none() -> None:
    _, tokenizer = networks.build(ModelConfig(init="tiny"), "dual", [*TEXTS, "none"], 2)
    item = ITEMS[0]
    tokenizer.sep_token = None
    encoder = Encoder(tokenizer, "joint", "clean", 80)
    (ids,) = encoder.encode([item])[0][0].sequences
    assert ids.count(tokenizer.eos_token_id) == 3  # one of them between the options
    assert tokenizer.convert_tokens_to_ids("none") not in ids
    tokenizer.eos_token = None
    with pytest.raises(FiglangError, match="format=joint needs a token between the options"):
        encoder.encode([item])


def test_a_decoder_of_an_encoder_and_decoder_scores_as_by_itself() -> None:
    torch.manual_seed(0)
    tokenizer = causal_models.tokenizer()
    sizes = {
        "d_model": 32,
        "decoder_layers": 2,
        "decoder_ffn_dim": 48,
        "decoder_attention_heads": 2,
        "is_decoder": True,
    }
    config = BartConfig(
        vocab_size=len(tokenizer),
        **sizes,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
        decoder_start_token_id=0,
    )
    network = BartForCausalLM(config).eval()
    engine = CausalScorer(network, tokenizer)
    found = engine.score(causal_models.requests())
    sequences, _ = engine.encoder.encode(causal_models.requests())
    for tokens, log_probs in zip(sequences, found.log_probs, strict=True):
        assert log_probs.tolist() == pytest.approx(
            causal_models.values(network, tokens.ids, tokens.start), abs=1e-4
        )


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_classifier_that_reads_the_last_word_finds_it_behind_no_padding(family: str) -> None:
    torch.manual_seed(0)
    network, tokenizer = networks.build(ModelConfig(init="tiny", architecture=family), "joint", TEXTS, 2)
    encoder = Encoder(tokenizer, "joint", "clean", 80)
    items = [
        replace(item, options=options) for item, options in zip(ITEMS, (WARM, SLOW, WARM, SLOW), strict=True)
    ]
    assert network.config.pad_token_id == padding(tokenizer)
    together = predict(network, scorer("joint", 1.0), encoder, items)
    alone = [predict(network, scorer("joint", 1.0), encoder, [item])[0] for item in items]
    for one, other in zip(together, alone, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-5)
