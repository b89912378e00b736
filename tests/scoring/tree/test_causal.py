"""Laws of causal scoring: it equals the network's own loss, however the work is shared and cut."""

import logging
import re
import string
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor
from transformers import AutoModelForCausalLM, BertConfig, PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from figlang.cpu.blocks import Blocks, in_blocks
from figlang.errors import FiglangError
from figlang.scoring.requests import Request
from figlang.scoring.tree.anatomy import Anatomy
from figlang.scoring.tree.causal import CausalScorer
from figlang.scoring.tree.states import tree_reads, tree_states
from figlang.scoring.tree.trie import grow
from figlang.scoring.tree.vocabulary import Vocabulary
from tests.causal_models import APART, NO_BLOCKS, TREE, WHOLE, check, network, requests, tokenizer
from tests.sampled import sampled

TOKENIZER = tokenizer()
LONG = " ".join(["the so as the oven"] * 60)


@pytest.mark.parametrize("bos", ["none", "add", 7])
@pytest.mark.parametrize("family", sampled(TREE, *APART))
def test_sharing_equals_one_sentence_at_a_time(family: str, bos: str | int) -> None:
    plain = network(family, **TREE[family])
    scorer = CausalScorer(plain, TOKENIZER, bos=bos, pack=40)
    assert scorer.score(requests()).fallback is None
    check(plain, scorer, requests())


@pytest.mark.parametrize("family", sampled(TREE, *APART))
def test_attention_in_blocks_equals_it_too(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = network(family, **TREE[family])
    scorer = CausalScorer(plain, TOKENIZER, bos="add")
    counts, usual = [], ALL_ATTENTION_FUNCTIONS["sdpa"]

    def counted(blocks: Sequence[Blocks], queries: int, cast: bool = False) -> Any:
        counts.append(sum(len(part.queries) for part in blocks))
        return in_blocks(blocks, queries, cast)

    def refused(*inputs: Any, **options: Any) -> Any:
        assert family in NO_BLOCKS, "attention that blocks could do"
        return usual(*inputs, **options)

    monkeypatch.setattr("figlang.scoring.tree.states.in_blocks", counted)
    with monkeypatch.context() as patch:
        patch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", refused)
        assert scorer.score(requests()).fallback is None
    assert (max(counts) > 1) == (family not in NO_BLOCKS)
    check(plain, scorer, requests())


@pytest.mark.parametrize("bos", ["none", "add"])
@pytest.mark.parametrize("family", WHOLE)
def test_what_cannot_share_equals_it_too_and_says_why(
    family: str, bos: str, caplog: pytest.LogCaptureFixture
) -> None:
    plain = network(family, **WHOLE[family])
    scorer = CausalScorer(plain, TOKENIZER, bos=bos)
    with caplog.at_level(logging.INFO, "figlang"):
        fallback = scorer.score(requests()).fallback
    assert fallback is not None
    said = [record.message for record in caplog.records if record.name == "figlang"]
    assert len(said) == 1
    assert re.fullmatch(
        rf"causal scoring runs \d+ of 13 sequences whole, sharing nothing: {re.escape(fallback)}", said[0]
    )
    check(plain, scorer, requests())


@pytest.mark.parametrize("family", ["mistral", "gemma3_text", "gpt_neo"])
def test_short_inputs_share_even_where_attention_has_a_window(family: str) -> None:
    plain = network(family, **WHOLE[family])
    short = [Request("the so", " as the"), Request("the so", " oven"), Request("the", " the the")]
    scorer = CausalScorer(plain, TOKENIZER, bos="add")
    assert scorer.score(short).fallback is None
    check(plain, scorer, short)


def test_one_long_input_does_not_keep_the_others_from_sharing() -> None:
    plain = network("mistral", **WHOLE["mistral"])
    short = [Request("the so", " as the"), Request("the so", " oven"), Request("the so", " the the")]
    long = Request("", "the oven was as the oven was")
    scorer = CausalScorer(plain, TOKENIZER, bos="add")
    together, alone, rest = scorer.score([*short, long]), scorer.score([long]), scorer.score(short)
    assert together.fallback == alone.fallback is not None
    assert (together.read, together.positions) == (rest.read + alone.read, rest.positions + alone.positions)
    check(plain, scorer, [short[0], long, *short[1:]])


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", ["gpt2", "llama", "opt", "gpt_neox"])
def test_attention_implementations_agree(family: str, attention: str) -> None:
    plain = network(family, **TREE[family], attn_implementation=attention)
    scorer = CausalScorer(plain, TOKENIZER)
    assert scorer.score(requests()).fallback is None
    check(plain, scorer, requests())


# peft 0.21 asks transformers 5.23 for it.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_an_adapter_counts() -> None:
    adapted = get_peft_model(
        network("llama"), LoraConfig(init_lora_weights=False, target_modules=["q_proj", "v_proj"])
    )
    scorer = CausalScorer(adapted, TOKENIZER)
    assert scorer.score(requests()).fallback is None
    check(adapted, scorer, requests())


@pytest.mark.parametrize(("pack", "logits"), [(1, 1), (3, 300), (17, 3000), (256, 2**20)])
def test_packs_and_budgets_change_no_value(pack: int, logits: int) -> None:
    plain = network("llama")
    expected = CausalScorer(plain, TOKENIZER).score(requests()).log_probs
    found = CausalScorer(plain, TOKENIZER, pack=pack, logits=logits).score(requests()).log_probs
    for one, other in zip(expected, found, strict=True):
        assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("batch_tokens", [1, 50, 2000])
def test_batches_of_whole_sequences_change_no_value(batch_tokens: int) -> None:
    plain = network("mistral", **WHOLE["mistral"])
    expected = CausalScorer(plain, TOKENIZER).score(requests()).log_probs
    found = CausalScorer(plain, TOKENIZER, batch_tokens=batch_tokens).score(requests()).log_probs
    for one, other in zip(expected, found, strict=True):
        assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5, rel=1e-5)


def test_companions_and_order_change_no_value() -> None:
    scorer = CausalScorer(network("gpt2"), TOKENIZER)
    together = scorer.score(requests()).log_probs
    backwards = scorer.score(requests()[::-1]).log_probs[::-1]
    for request, one, other in zip(requests(), together, backwards, strict=True):
        (alone,) = scorer.score([request]).log_probs
        assert one.tolist() == pytest.approx(alone.tolist(), abs=1e-5, rel=1e-5)
        assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("pack", [5, 40, 4096])
def test_every_distinct_prefix_is_read_once(pack: int) -> None:
    plain = network("llama")
    scorer = CausalScorer(plain, TOKENIZER, pack=pack)
    read = []
    plain.get_input_embeddings().register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].numel()))
    scored = scorer.score(requests())
    sequences, _ = scorer.encoder.encode(requests())
    # The last token of a sequence is predicted, never read.
    distinct = {tuple(tokens.ids[:stop]) for tokens in sequences for stop in range(1, len(tokens.ids))}
    assert sum(read) == len(distinct) == scored.read < scored.tokens
    assert max(read) <= pack


@pytest.mark.parametrize("family", ["llama", "mamba"])
@pytest.mark.parametrize("budget", [300 * 4, 300 * 100])
def test_logits_stay_within_the_budget(family: str, budget: int) -> None:
    plain = network(family, **WHOLE.get(family, {}))
    scorer = CausalScorer(plain, TOKENIZER, logits=budget)
    sizes: list[int] = []
    plain.get_output_embeddings().register_forward_hook(lambda _, __, output: sizes.append(output.numel()))
    scored = scorer.score(requests())
    assert max(sizes) <= budget
    assert sum(sizes) == 300 * (scored.positions + 1)  # one row tells the vocabulary's size


def test_states_stay_within_the_budget_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = network("llama").to(torch.bfloat16)
    scorer = CausalScorer(plain, TOKENIZER, logits=300 * 4)
    exact, sizes = Anatomy.exact, []

    def spy(self: Anatomy, states_RH: Tensor, tokens_R: Tensor) -> Tensor:
        sizes.append(states_RH.numel())
        return exact(self, states_RH, tokens_R)

    monkeypatch.setattr(Anatomy, "exact", spy)
    asked = [Request("so ", letter) for letter in string.ascii_letters]
    together = scorer.score(asked).log_probs
    assert max(sizes) <= 300 * 4 < 32 * len(asked)
    at_once = CausalScorer(plain, TOKENIZER, logits=2**24).score(asked).log_probs
    assert torch.equal(torch.cat(list(together)), torch.cat(list(at_once)))


@pytest.mark.parametrize("part", [1, 40, 700])
def test_parts_of_very_many_sequences_change_no_value(part: int) -> None:
    plain = network("llama")
    scorer = CausalScorer(plain, TOKENIZER, part=part)
    whole = CausalScorer(plain, TOKENIZER)
    check(plain, scorer, requests())
    assert whole.score(requests()).read < scorer.score(requests()).read


@pytest.mark.parametrize("part", [1, 700])
def test_parts_keep_the_order_where_some_sequences_share_nothing(part: int) -> None:
    plain = network("mistral", sliding_window=12)
    scorer = CausalScorer(plain, TOKENIZER, part=part)
    lengths = [len(tokens.ids) - 1 for tokens in scorer.encoder.encode(requests())[0]]
    assert len({scorer.anatomy.reason(length) is None for length in lengths}) == 2
    check(plain, scorer, requests())


def test_states_that_wait_for_the_vocabulary_stay_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    budget, waiting = 40 * 32, []
    scorer = CausalScorer(network("llama"), TOKENIZER, pack=16, logits=budget)
    add = Vocabulary.add

    def spy(self: Vocabulary, nodes: Tensor, states_RH: Tensor) -> None:
        add(self, nodes, states_RH)
        waiting.append(sum(map(Tensor.numel, self._states)))

    monkeypatch.setattr(Vocabulary, "add", spy)
    scorer.score(requests())
    assert 16 * 32 < max(waiting) < budget  # of several packs


def test_a_token_across_the_boundary_belongs_to_the_continuation() -> None:
    encoder = CausalScorer(network("gpt2"), TOKENIZER).encoder
    (inside, line, space), _ = encoder.encode(
        [Request("The ov", "en."), Request("so.", "\nas"), Request("so ", " as")]
    )
    assert [
        TOKENIZER.convert_ids_to_tokens(tokens.ids[tokens.start :]) for tokens in (inside, line, space)
    ] == [
        ["oven", "."],
        [".Ċ", "as"],
        ["Ġ", "Ġ", "as"],
    ]


def test_an_empty_context_leaves_the_first_token_without_a_value() -> None:
    plain = network("gpt2")
    without = CausalScorer(plain, TOKENIZER).score([Request("", "the so")]).log_probs[0]
    with_bos = CausalScorer(plain, TOKENIZER, bos="add").score([Request("", "the so")]).log_probs[0]
    assert len(with_bos) == len(without) + 1 == len(TOKENIZER("the so").input_ids)


def test_no_requests_no_scores() -> None:
    assert CausalScorer(network("gpt2"), TOKENIZER).score([]).log_probs == []


def test_what_is_too_long_is_refused_by_name_or_truncated(caplog: pytest.LogCaptureFixture) -> None:
    plain = network("gpt2", max_position_embeddings=64)
    asked = [Request("the", " so"), Request(LONG, " as so")]
    with pytest.raises(
        FiglangError,
        match=r"request 1 \('the so as the oven the so as'…\) has \d+ tokens.*overflow=truncate_left",
    ):
        CausalScorer(plain, TOKENIZER).score(asked)
    scorer = CausalScorer(plain, TOKENIZER, bos="add", overflow="truncate_left")
    check(plain, scorer, [*asked, Request(LONG, " as the")])
    assert scorer.score(asked).truncated == 1
    assert "1 of 2 requests were truncated on the left" in caplog.text
    (_, cut), _ = scorer.encoder.encode(asked)
    whole = [TOKENIZER.bos_token_id, *TOKENIZER(LONG + " as so").input_ids]
    # The last token is only predicted, so one more than the window fits.
    assert cut.ids == [whole[0], *whole[-64:]]
    assert cut.ids[cut.start :] == TOKENIZER(" as so").input_ids


@pytest.mark.parametrize("bos", ["none", "add"])
def test_a_continuation_may_fill_the_window_and_no_more(bos: str) -> None:
    scorer = CausalScorer(
        network("gpt2", max_position_embeddings=64), TOKENIZER, bos=bos, overflow="truncate_left"
    )
    (kept,) = scorer.score([Request("so so", "x" * 64)]).log_probs
    assert len(kept) == 64
    with pytest.raises(FiglangError, match=r"request 0 .* its continuation alone is too long"):
        scorer.score([Request("so so", "x" * 65)])


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("The \ud83d", "room"), r"request 1 .* holds '.ud83d', half of a character"),
        (Request("The room", ""), "request 1 .'The room'. has an empty continuation"),
        (Request("", "a"), "request 1 .'a'. is a single token, .* set scoring.bos=add"),
    ],
)
def test_what_cannot_be_scored_is_refused_by_name(request_: Request, message: str) -> None:
    scorer = CausalScorer(network("gpt2"), TOKENIZER)
    with pytest.raises(FiglangError, match=message):
        scorer.score([Request("a", "b"), request_])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_network_that_looks_ahead_is_refused(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "vocab_size": 300,
    }

    def bert(is_decoder: bool) -> PreTrainedModel:
        config = BertConfig(**sizes, initializer_range=0.2, is_decoder=is_decoder)
        return AutoModelForCausalLM.from_config(config).to(dtype)  # type: ignore[no-any-return]

    with pytest.raises(
        FiglangError, match=r"BertLMHeadModel as loaded is not a causal language model: .* scoring=pll"
    ):
        CausalScorer(bert(False), TOKENIZER)
    CausalScorer(bert(True), TOKENIZER)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bos": "yes"}, "bos=yes is not a choice"),
        ({"bos": 5000}, "bos=5000 is not a token id"),
        ({"overflow": "cut"}, "overflow=cut is not a choice"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(FiglangError, match=message):
        CausalScorer(network("gpt2"), TOKENIZER, **settings)


def test_the_common_beginning_is_read_in_the_first_packs_only() -> None:
    plain = network("llama")
    scorer = CausalScorer(plain, TOKENIZER)
    sequences, _ = scorer.encoder.encode(
        [Request(LONG[:200], f" {word}.") for word in ("as", "so", "the", "oven")]
    )
    trie = grow(sequences)
    with torch.inference_mode():
        read = [states.read for states in tree_states(tree_reads(plain.base_model, trie, 64))]
    assert sum(read) == len(trie.read)
    assert trie.longest < len(trie.read) < trie.longest + 20
