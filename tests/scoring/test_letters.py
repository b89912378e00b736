"""Letters as a closed choice, in several vocabularies: by hand, and by the network's probabilities."""

from collections.abc import Callable

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from figlang.errors import FiglangError
from figlang.scoring.letters import LetterScores, answer_forms, forms, measure
from figlang.scoring.requests import Scored, SpanFinder
from figlang.scoring.tree.causal import CausalScorer
from figlang.types import Item, Prompted
from tests.causal_models import network

PROMPT = "Correct answer: Option"
LETTERS = (" A", " B", " C", " D")
Built = PreTrainedTokenizerFast


def fast(tokenizer: Tokenizer) -> Built:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=AddedToken("<s>", special=True))


def bpe(merged: bool = False) -> Built:
    """GPT-2's kind: a space belongs to the word after it (`ĠA`).

    `merged` joins the prompt's last letter with A.
    """
    pieces = ["<s>", *sorted(ByteLevel.alphabet())]
    merges = [("Ġ", letter) for letter in "ABCD"] + ([("n", "A")] if merged else [])
    pieces += ["".join(pair) for pair in merges]
    built = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    return fast(built)


def sentencepiece() -> Built:
    """LLaMA's kind: a word begins with `▁`, which also begins every text.

    A letter without it is another token.
    """
    texts = {"▁": -9.0, "<0x0A>": -9.0, "(": -9.0, "1": -9.0, ":": -9.0}
    texts |= {f"{space}{letter}": -1.0 for space in ("", "▁") for letter in "ABCD"}
    texts |= dict.fromkeys(("▁Correct", "▁answer", "▁Option"), -1.0) | dict.fromkeys(
        "abcdefghijklmnopqrstuvwxyzO", -9.0
    )
    built = Tokenizer(models.Unigram([("<unk>", -99.0), ("<s>", 0.0), *texts.items()], unk_id=0))
    built.pre_tokenizer = pre_tokenizers.Metaspace()
    built.decoder = decoders.Metaspace()
    return fast(built)


def bytes_only() -> Built:
    """A vocabulary of bytes: a space is a token of its own."""
    built = Tokenizer(
        models.BPE({piece: number for number, piece in enumerate(["<s>", *sorted(ByteLevel.alphabet())])}, [])
    )
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    return fast(built)


def pieces(tokenizer: Built, answer: str, prompt: str = PROMPT) -> dict[str, list[str]]:
    return {
        text: tokenizer.convert_ids_to_tokens(list(tokens))
        for text, tokens in forms(SpanFinder(tokenizer), prompt, answer)
    }


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (bpe, {" A": ["ĠA"], "A": ["A"]}),
        (sentencepiece, {" A": ["▁A"], "A": ["A"]}),
        (bytes_only, {" A": ["Ġ", "A"], "A": ["A"]}),
    ],
)
def test_the_forms_of_a_letter(build: Callable[[], Built], found: dict[str, list[str]]) -> None:
    assert pieces(build(), " A") == found


def test_a_letter_that_would_merge_with_the_prompt_is_found_after_other_text() -> None:
    tokenizer = bpe(merged=True)
    assert tokenizer.tokenize("OptionA")[-1] == "nA"
    assert pieces(tokenizer, " A") == {" A": ["ĠA"], "A": ["A"]}


def test_a_tokenizer_that_knows_no_space_has_one_form() -> None:
    built = Tokenizer(
        models.WordLevel(
            {"<unk>": 0, "<s>": 1, **{letter: place for place, letter in enumerate("ABCD", 2)}},
            unk_token="<unk>",
        )
    )
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    assert pieces(fast(built), " A") == {" A": ["A"]}


@pytest.mark.parametrize("unknown", [None, "<unk>"])
def test_letters_without_tokens_of_their_own_are_refused(unknown: str | None) -> None:
    # Without a token for what is unknown the letter vanishes; with one all letters are the same token.
    built = Tokenizer(
        models.BPE(
            {"<unk>": 0, **{letter: place for place, letter in enumerate("Option", 1)}}, [], unk_token=unknown
        )
    )
    with pytest.raises(FiglangError, match=r"no tokens of its own for '[AB]'"):
        answer_forms(SpanFinder(fast(built)), asked("Option"))


def asked(*prompts: str) -> list[Prompted]:
    return [
        Prompted(Item(str(number), "g", "", ("",) * 4, 0), prompt, LETTERS)
        for number, prompt in enumerate(prompts)
    ]


@pytest.mark.parametrize("build", [bpe, sentencepiece, bytes_only])
@pytest.mark.parametrize("bos", ["none", "add"])
def test_a_letters_probability_is_the_sum_of_its_forms(build: Callable[[], Built], bos: str) -> None:
    tokenizer = build()
    plain = network("llama", vocabulary=len(tokenizer))
    prompts = (PROMPT, "Option A: a\n" + PROMPT, "Option A: b\n" + PROMPT)
    rows = measure(CausalScorer(plain, tokenizer, bos), asked(*prompts)).predictions()
    for prompt, row in zip(prompts, rows, strict=True):
        before = ([tokenizer.bos_token_id] if bos == "add" else []) + tokenizer(
            prompt, add_special_tokens=False
        )["input_ids"]
        for letter, score in zip("ABCD", row.scores, strict=True):
            spaced = {bpe: f"Ġ{letter}", sentencepiece: f"▁{letter}"}.get(build)
            together = probability(plain, before, tokenizer.convert_tokens_to_ids([letter]))
            together += probability(
                plain, before, tokenizer.convert_tokens_to_ids([spaced] if spaced else ["Ġ", letter])
            )
            assert score == pytest.approx(together.log().item(), abs=1e-4)


@torch.no_grad()
def probability(plain: torch.nn.Module, before: list[int], tokens: list[int]) -> torch.Tensor:
    """Of these tokens one after the other, by the network's plain output."""
    found = torch.tensor(1.0)
    for place, token in enumerate(tokens):
        logits = plain(input_ids=torch.tensor([before + tokens[:place]])).logits[0, -1]
        found = found * logits.softmax(-1)[token]
    return found


def test_the_sum_of_forms_can_choose_another_letter_than_either() -> None:
    # A leads with a space and B without, but C has more in all.
    logs = [{" A": 0.30, "A": 0.01}, {" B": 0.01, "B": 0.30}, {" C": 0.2, "C": 0.2}, {" D": 0.01, "D": 0.01}]
    found = [{text: torch.tensor(value).log().item() for text, value in form.items()} for form in logs]
    lettered = LetterScores(asked(PROMPT), [found], Scored([], 0, 0, 0, 0, None))
    assert lettered.predictions()[0].choice == 2
    assert lettered.records() == [{"id": "0", "letters": found}]


def test_letters_of_the_same_probability_are_no_choice() -> None:
    found = [{f" {letter}": -1.0} for letter in "ABCD"]
    assert LetterScores(asked(PROMPT), [found], Scored([], 0, 0, 0, 0, None)).predictions()[0].choice is None


def test_a_prompt_is_read_once_and_so_is_what_prompts_share() -> None:
    tokenizer = bpe()
    prompts = [f"One long instruction for all. {number}\n{PROMPT}" for number in range(8)]
    scored = measure(
        CausalScorer(network("llama", vocabulary=len(tokenizer)), tokenizer, "add"), asked(*prompts)
    ).scored
    lengths = [1 + len(tokenizer(prompt, add_special_tokens=False)["input_ids"]) for prompt in prompts]
    assert scored.tokens == sum(lengths)
    assert scored.read < sum(lengths) / 1.5
    # The last token of a prompt is read, its letters are not.
    assert scored.positions == 8


def test_a_prompt_beyond_the_window_is_named() -> None:
    tokenizer = bpe()
    scorer = CausalScorer(network("llama", vocabulary=len(tokenizer), max_position_embeddings=8), tokenizer)
    with pytest.raises(FiglangError, match=r"request 0 \('Correct answer: Option"):
        measure(scorer, asked(PROMPT))
