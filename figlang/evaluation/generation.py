"""Texts and replies that a causal model writes, locally or behind an endpoint, and the part that is rated."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import regex
import torch
from torch import Tensor
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from figlang.config import ProtocolConfig, SamplingConfig
from figlang.config.signature import digest
from figlang.errors import FiglangError, NonFiniteError, one_line, owned
from figlang.evaluation import unanswered
from figlang.machine import bars
from figlang.machine.limits import within
from figlang.machine.shrinking import Shrinking
from figlang.models.checkpoint import Loaded, Served
from figlang.models.hosted.opened import Hosted, Opened
from figlang.models.served import chatting
from figlang.models.served.abilities import opening
from figlang.scoring.replies import final
from figlang.scoring.requests import bos_ids
from figlang.scoring.window import positions
from figlang.tasks import registry
from figlang.text.tidying import CLOSER, TERMINAL
from figlang.types import Chat, Generation, Open, Reply

# In scripts without spaces, no space follows a mark.
SENTENCE_END = regex.compile(rf"[.!?…]+{CLOSER}*(?=\s|$)|(?:(?![.!?…]){TERMINAL})+{CLOSER}*")
PATIENCE = 10.0  # seconds, for a template that takes milliseconds
SPEAKERS = {"system": "", "user": "User: ", "assistant": "Assistant: "}  # before the turns of a plain chat
# Words whose final period ends no sentence.
ABBREVIATIONS = ("mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "a.m", "p.m", "approx")


class _Finite(LogitsProcessor):  # type: ignore[misc]
    """Refuses next-token scores that are not numbers, since a token chosen by them would be arbitrary."""

    def __init__(self, copies: int) -> None:
        self._copies = copies  # rows of one prompt

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        bad_R = scores.isnan().any(-1) | ~scores.isfinite().any(-1)
        if bad_R.any():
            raise NonFiniteError(
                "the network's next-token scores are not numbers", int(bad_R.nonzero()[0]) // self._copies
            )
        return scores


@dataclass(frozen=True)
class Writer:
    """A causal network that continues prompts; `bos` are the ids of what stands before every prompt."""

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    bos: Sequence[int] = ()

    @torch.inference_mode()
    def write(
        self, prompts: Sequence[str], sampling: SamplingConfig, batch_size: int = 16, progress: bool = False
    ) -> list[list[str]]:
        """`sampling.n` continuations of every prompt, without the prompt.

        Prompts of similar length are continued together. The same prompts with the same settings and batch
        size give the same text; at temperature 0 the other prompts and the batch size make no difference
        beyond rounding. If memory is not enough for a batch, batches are halved from then on, and the log
        says so; texts that are drawn are then others.

        Raises FiglangError if prompt and answer do not fit into the network's window, and NonFiniteError if
        the network's scores are not numbers.
        """
        self.network.eval()
        ids = [
            [*self.bos, *self.tokenizer(prompt, add_special_tokens=False)["input_ids"]] for prompt in prompts
        ]
        window = positions(self.network.config)
        _check_room(prompts, ids, sampling.max_tokens, window)
        order = sorted(range(len(prompts)), key=lambda place: len(ids[place]))
        written: dict[int, list[str]] = {}
        sizes = Shrinking(batch_size, 1, "prompts are continued")

        def one_batch(size: int) -> dict[int, list[str]]:
            batch = order[len(written) : len(written) + size]
            try:
                texts = self._continue([ids[place] for place in batch], sampling)
            except NonFiniteError as error:
                raise NonFiniteError(str(error), batch[error.place]) from error
            return {
                place: texts[row * sampling.n : (row + 1) * sampling.n] for row, place in enumerate(batch)
            }

        torch.manual_seed(sampling.seed)
        # Only the tokens are taken from the model's own settings: a repetition penalty or the like would
        # draw from another distribution.
        own = self.network.generation_config
        self.network.generation_config = GenerationConfig(
            bos_token_id=own.bos_token_id, eos_token_id=own.eos_token_id
        )
        try:
            with bars.progress(progress) as bar:
                task = bar.add_task("writing", total=len(order))
                while len(written) < len(order):
                    found = sizes(one_batch)
                    written |= found
                    bar.advance(task, len(found))
        finally:
            self.network.generation_config = own
        return [written[place] for place in range(len(prompts))]

    def _continue(self, ids: Sequence[Sequence[int]], sampling: SamplingConfig) -> list[str]:
        longest = max(map(len, ids))
        padding = (
            self.tokenizer.pad_token_id
            if self.tokenizer.pad_token_id is not None
            else self.tokenizer.eos_token_id or 0
        )
        device = self.network.device
        # On the left, so that every prompt ends where its answer begins.
        rows = torch.tensor([[padding] * (longest - len(row)) + list(row) for row in ids], device=device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in ids], device=device)
        how = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
        continued_RT: Tensor = self.network.generate(
            input_ids=rows,
            attention_mask=mask,
            max_new_tokens=sampling.max_tokens,
            num_return_sequences=sampling.n,
            pad_token_id=padding,
            logits_processor=LogitsProcessorList([_Finite(sampling.n)]),
            **(
                how
                if sampling.temperature > 0
                else {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
            ),
        )
        return list(self.tokenizer.batch_decode(continued_RT[:, longest:], skip_special_tokens=True))


def _check_room(prompts: Sequence[str], ids: Sequence[Sequence[int]], room: int, window: int | None) -> None:
    """Check that prompts and answers fit into a network.

    Args:
        prompts: The prompts.
        ids: Their tokens.
        room: The longest answer in tokens.
        window: How many tokens the network reads; None if there is no limit.

    Raises:
        FiglangError: If one does not, or if a prompt is empty.
    """
    for prompt, row in zip(prompts, ids, strict=True):
        if not row:
            raise FiglangError("an empty prompt cannot be continued without a bos; set model.bos")
        if window is not None and len(row) + room > window:
            raise FiglangError(
                f"prompt {prompt[:60]!r}… has {len(row)} tokens; with max_tokens={room} that "
                f"is more than the {window} that the network reads; ask for fewer examples or shorter answers"
            )


def first_paragraph(text: str) -> str:
    """The part that Comșa et al. 2022 (§5.2) rate: up to the first line break after the first word."""
    return text.strip().split("\n", 1)[0].strip()


def first_sentence(text: str, end: str = "sentence") -> str:
    """The part that Liu et al. 2022 (§5.2) rate. `sentence`: the first sentence. `period`: the text before
    the first period, even the period of an abbreviation: the authors stopped the model there, and nowhere
    else. Its lines become one."""
    if end == "period":
        return re.sub(r"\s*\n\s*", " ", text.partition(".")[0].strip())
    paragraph = first_paragraph(text)
    for mark in SENTENCE_END.finditer(paragraph):
        word = re.split(r"[\s(\"“]", paragraph[: mark.start()])[-1].lower()
        if not (
            mark.group().startswith(".")
            and (word in ABBREVIATIONS or (re.fullmatch(r"[a-z]", word) and word != "i"))
        ):
            return paragraph[: mark.end()]
    return paragraph


def answer(
    loaded: Opened, asked: Sequence[Open], sampling: SamplingConfig, cut: str, progress: bool = False
) -> tuple[list[Generation], str]:
    """Answer all questions, in their order. Returns the answers, each with the part that is rated, and how
    the model was asked.

    The model continues a text if it can. An endpoint with only a chat gets the text as a message.

    Args:
        loaded: The model.
        asked: The questions.
        sampling: How answers are drawn.
        cut: `sentence` or `period`: the part of an answer that is rated.
        progress: Whether to show a bar.
    """
    prompts = [question.prompt for question in asked]
    how, replies = "continued", []
    if isinstance(loaded, Loaded):
        writer = Writer(loaded.network, loaded.tokenizer, bos_ids(loaded.tokenizer, loaded.bos()))
        with owned([question.item for question in asked]):
            texts = writer.write(prompts, sampling, progress=progress)
    elif isinstance(loaded, Hosted):
        before = bos_ids(loaded.tokenizer, loaded.bos())
        texts = [
            [text for text, _ in several] for several in _hosted(loaded, before, prompts, sampling, progress)
        ]
    elif loaded.endpoint.abilities.completes:
        texts = loaded.endpoint.complete(
            [opening(loaded.bos()) + prompt for prompt in prompts], sampling, progress
        )
    else:
        replies = converse(loaded, prompts, sampling, progress)
        how = manner(loaded, sampling)
        texts = [[final(reply.text) for reply in several] for several in replies]
    written = [
        Generation(
            question.item,
            question.group,
            question.kind,
            sample,
            question.prompt,
            text,
            rated_part(question.kind, text, cut),
        )
        for question, several in zip(asked, texts, strict=True)
        for sample, text in enumerate(several)
    ]
    unanswered.warn(written, [reply for several in replies for reply in several], sampling)
    return written, how


def converse(
    loaded: Opened,
    chats: Sequence[str | Chat],
    sampling: SamplingConfig,
    progress: bool = False,
    settings: ProtocolConfig | None = None,
    letters: Sequence[int] = (),
) -> list[list[Reply]]:
    """Replies to conversations.

    Args:
        loaded: The model.
        chats: The conversations, each of which ends with a turn of the user. A text is such a turn alone.
        sampling: How replies are drawn.
        progress: Whether to show a bar.
        settings: The protocol; None for the usual one.
        letters: For each conversation how many letters a server may allow; empty: replies are free.

    Returns:
        `sampling.n` replies to each conversation.

    Raises:
        FiglangError: The model has no chat format.
    """
    settings = settings or ProtocolConfig()
    if isinstance(loaded, Served):
        return loaded.endpoint.chat(chats, sampling, settings, letters, progress)
    prompts = worded(loaded, chats, settings)
    bos = bos_ids(loaded.tokenizer, beginning(loaded, settings))
    if isinstance(loaded, Hosted):
        written = _hosted(loaded, bos, prompts, sampling, progress)
    else:
        writer = Writer(loaded.network, loaded.tokenizer, bos)
        written = [
            [(text, _is_cut(loaded.tokenizer, text, sampling)) for text in several]
            for several in writer.write(prompts, sampling, progress=progress)
        ]
    return [[_reply(text, cut, settings) for text, cut in several] for several in written]


def beginning(loaded: Loaded | Hosted, settings: ProtocolConfig) -> str:
    """What stands before the text of a conversation: nothing before a template, which begins with the token
    that its model expects, and the model's own bos before a plain chat."""
    return loaded.bos() if settings.chat == "plain" else "none"


def _reply(text: str, cut: bool, settings: ProtocolConfig) -> Reply:
    """A reply. A network that knows no chat goes on with a turn of the user, which is not part of it."""
    said, more, _ = text.partition("\n" + SPEAKERS["user"].strip())
    return Reply(said, cut and not more) if settings.chat == "plain" else Reply(text, cut)


def worded(loaded: Loaded | Hosted, chats: Sequence[str | Chat], settings: ProtocolConfig) -> list[str]:
    """Conversations as texts that a local model continues.

    Args:
        loaded: The model.
        chats: The conversations.
        settings: The protocol: whether the tokenizer's template words them, and its settings.

    Raises:
        FiglangError: The model has no chat format, or its template fails.
    """
    if settings.chat == "plain":
        return [_plain(chatting.messages(chat)) for chat in chats]
    if not loaded.tokenizer.chat_template:
        raise FiglangError(
            f"{loaded.manifest.name} has no chat format, so that it cannot reply; use protocol.chat=plain, "
            "scoring=clean, or a chat model"
        )
    own = settings.chat_template_kwargs
    return [templated(loaded.tokenizer, chatting.messages(chat), loaded.manifest.name, own) for chat in chats]


def _plain(chat: list[dict[str, str]]) -> str:
    turns = [SPEAKERS[turn["role"]] + turn["content"] for turn in chat]
    return "\n\n".join([*turns, SPEAKERS["assistant"].rstrip()])


def _hosted(
    loaded: Hosted, bos: Sequence[int], prompts: Sequence[str], sampling: SamplingConfig, progress: bool
) -> list[list[tuple[str, bool]]]:
    ids = [[*bos, *loaded.tokenizer(prompt, add_special_tokens=False)["input_ids"]] for prompt in prompts]
    _check_room(prompts, ids, sampling.max_tokens, loaded.engine.window)
    return loaded.engine.write(ids, sampling, progress)


def templated(
    tokenizer: PreTrainedTokenizerBase,
    chat: list[dict[str, str]],
    name: str,
    own: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """A conversation as one text that a chat model continues.

    Args:
        tokenizer: The tokenizer, which has the chat template.
        chat: The turns.
        name: Name of the model, for the error message.
        own: Variables of the template.

    Raises:
        FiglangError: The template fails or does not end.
    """
    try:
        with within(PATIENCE, f"{name}: its chat template"):
            return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, **own))
    except FiglangError:
        raise
    except Exception as error:  # templates raise what they please, and recurse
        raise FiglangError(
            f"{name}: its chat template fails ({one_line(error)}); take another chat model"
        ) from error


def manner(loaded: Opened, sampling: SamplingConfig) -> str:
    """The settings of a chat, for the signature."""
    if isinstance(loaded, Served) and "temperature" not in (loaded.endpoint.abilities.reply or {}):
        return "chat,sampled"
    return "chat,greedy" if sampling.temperature == 0 else f"chat,temperature={sampling.temperature:g}"


def _is_cut(tokenizer: PreTrainedTokenizerBase, text: str, sampling: SamplingConfig) -> bool:
    return len(tokenizer(text, add_special_tokens=False)["input_ids"]) >= sampling.max_tokens


def rated_part(kind: str, text: str, cut: str = "sentence") -> str:
    """The part of an answer that its benchmark rates."""
    return first_paragraph(text) if registry.scale_of([kind]).paragraph else first_sentence(text, cut)


def facts(
    sampling: SamplingConfig,
    manner: str,
    shots: int,
    kinds: Sequence[str],
    cut: str,
    pool: Sequence[Generation] = (),
) -> dict[str, Any]:
    """The settings that can change an answer, for the signature.

    Args:
        sampling: How answers are drawn.
        manner: How the model is asked.
        shots: Number of answered questions before each question.
        kinds: The kinds of questions.
        cut: The part of an answer that is rated.
        pool: The answers that examples are drawn from.
    """
    drawn = f"temperature={sampling.temperature:g},top_p={sampling.top_p:g}"
    drawn += f",n={sampling.n},max_tokens={sampling.max_tokens}"
    how = f"{sampling.name}({drawn},seed={sampling.seed})"
    about = {"sampling": how, "protocol": manner, "kinds": "+".join(kinds), "shots": shots, "cut": cut}
    return about | ({"pool": digest([asdict(example) for example in pool])} if pool else {})
