"""Log-probabilities of continuations by a causal language model. What requests share is computed once."""

import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext

import torch
from rich.progress import Progress
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.cpu.blocks import takes_blocks
from figlang.cpu.hasten import hastened
from figlang.cpu.memory import give_back
from figlang.cpu.packed import lay_out
from figlang.cpu.parts import untouched
from figlang.cpu.side_by_side import side_by_side
from figlang.machine import bars
from figlang.machine.shrinking import Shrinking
from figlang.scoring.flat import Chosen, Slices, Tokens
from figlang.scoring.requests import Request, RequestEncoder, Scored
from figlang.scoring.tree.anatomy import STATELESS, dissect, others
from figlang.scoring.tree.states import States, for_threads, tree_reads, tree_states, whole_states
from figlang.scoring.tree.trie import Section, Trie, grow
from figlang.scoring.tree.vocabulary import Vocabulary
from figlang.scoring.window import positions

log = logging.getLogger("figlang")
OFTEN = 2**17  # tokens after which freed memory is given back; less often, it would grow with the trie
LEAST = 1024  # fewer tokens are not worth a thread of their own
SMALLEST = 32  # tokens of a pack; if memory is not enough for them, less would not help


class CausalScorer:
    """Scores requests with a causal network. Build it once for each network, because it probes the network.

    Every distinct prefix of the token sequences is read once, or once in each `part` of very many sequences.
    The prefixes form a trie, which is cut into packs. In a pack, a token attends to its own path (design:
    SpecInfer's tree attention, arXiv 2305.09781). The vocabulary matrix is applied only where a token is
    scored.

    The probe compares this with the plain network. Distinct sequences are run whole and padded if the results
    differ (recurrent networks), if a part is of unknown code, or if an input is longer than an attention
    window. The results are the same, and the log says so. If the vocabulary matrix cannot be split off, one
    sequence may take more than `logits` values.

    If memory is not enough for a pack, packs and batches are halved from then on, and the log says so.

    On a CPU with several threads, the two halves of a large trie are read at the same time, if no part has
    hooks or a state of its own. Both read what they share, at most a hundredth.

    Results equal the network's own loss times length for each sequence, up to float32 rounding. A network in
    bf16 is run in bf16. The logits that matter and all log-probabilities are float32. So are the sums of its
    layers, on a CPU, if beginnings are shared and the network's code accepts that. Dropout is off.

    Args:
        network: A causal network.
        tokenizer: Its tokenizer.
        bos: As in RequestEncoder.
        overflow: As in RequestEncoder.
        pack: Tokens that are read together; None chooses a number.
        batch_tokens: The most tokens of a batch of whole sequences.
        logits: The most logits at a time; for each half of a trie at least one row.
        part: The most tokens of all sequences of a trie, or one sequence.

    Attributes:
        anatomy: What the probe found about the network.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        bos: str | int = "none",
        overflow: str = "error",
        pack: int | None = None,
        batch_tokens: int = 1024,
        logits: int = 2**24,
        part: int = 2**21,
    ) -> None:
        self.encoder = RequestEncoder(tokenizer, bos, overflow, positions(network.config))
        self._batch_tokens = batch_tokens
        self._logits = logits
        self._part = part
        self.anatomy = dissect(network.eval())
        # Attention to other branches is wasted work that grows with the pack. A GPU hides it. A CPU does so
        # only if attention is cut into blocks.
        wasted = network.device.type == "cpu" and not takes_blocks(self.anatomy.body)
        self._pack = pack or (256 if wasted else 2048)
        self._sizes = Shrinking(self._pack, min(SMALLEST, self._pack), "tokens are read")

    @torch.inference_mode()
    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        """Log-probabilities (in nats) of the tokens of every continuation, in the order of the requests.

        With `bos=none` and an empty context, the first token has none.

        Raises:
            FiglangError: As RequestEncoder.encode does. It names the request.
        """
        sequences, truncated = self.encoder.encode(requests)
        return self._score(sequences, truncated, progress, sequences.forget)

    @torch.inference_mode()
    def score_tokens(self, sequences: Sequence[Tokens], truncated: int = 0, progress: bool = False) -> Scored:
        """`score` for token sequences as the encoder makes them.

        `truncated` counts those that the encoder has cut.
        """
        return self._score(sequences, truncated, progress)

    def _score(
        self,
        sequences: Sequence[Tokens],
        truncated: int,
        progress: bool,
        forget: Callable[[int], None] | None = None,
    ) -> Scored:
        """`score_tokens`. `forget` drops so many of the first sequences, which were read."""
        self.anatomy.network.eval()
        if not sequences:
            return Scored([], 0, 0, 0, 0, None)
        if truncated:
            log.warning("%d of %d requests were truncated on the left", truncated, len(sequences))
        lengths = array("i", (len(sequence.ids) - 1 for sequence in sequences))
        reasons = {length: self.anatomy.reason(length) for length in set(lengths)}
        alone = [place for place, length in enumerate(lengths) if reasons[length]]
        fallback = reasons[max(reasons)]
        if fallback:
            log.info(
                "causal scoring runs %d of %d sequences whole, sharing nothing: %s",
                len(alone),
                len(sequences),
                fallback,
            )
        found = _room(sequences)
        read = positions = 0
        every = range(len(sequences))
        in_threads = self._bears_threads()
        bar = bars.progress(progress)
        matrix = self.anatomy.matrix()
        with hastened(self.anatomy.network), hastened(matrix), bar:
            # Sequences that are too long do not keep the others from sharing.
            shared = (
                [place for place, length in enumerate(lengths) if not reasons[length]] if alone else every
            )
            for places, whole in ((shared, False), (alone, True)):
                for part in _parts(places, lengths, self._part):
                    give_back()  # what the part before has freed
                    used, states = self._read(
                        Chosen(sequences, part), part, found, matrix, whole, in_threads and not whole, bar
                    )
                    read, positions = read + used, positions + states
                    if forget is not None and not alone:
                        forget(part[-1] + 1)
        return Scored(found, truncated, sum(lengths), read, positions, fallback)

    def _read(
        self,
        sequences: Sequence[Tokens],
        places: Sequence[int],
        found: Slices,
        matrix: nn.ModuleList,
        whole: bool,
        in_threads: bool,
        bar: Progress,
    ) -> tuple[int, int]:
        """Put the values of some sequences at their places. Tokens that were read, and states.

        Their trie is gone when the next one grows.
        """
        trie = grow(sequences)
        give_back()  # growing takes as much again
        task = bar.add_task("scoring", total=len(trie.read) + trie.positions)

        def run(pack: int) -> tuple[Tensor, int]:
            bar.reset(task)  # of a pack that was too large
            return self._run(trie, pack, matrix, whole, in_threads, lambda amount: bar.advance(task, amount))

        values, read = self._sizes(run)
        found.fill(places, trie.spans, values)
        return read, trie.positions

    def _run(
        self,
        trie: Trie,
        pack: int,
        matrix: nn.ModuleList,
        whole: bool,
        in_threads: bool,
        advance: Callable[[float], None],
    ) -> tuple[Tensor, int]:
        """Log-probabilities of the trie's scored nodes, and the number of tokens that were read for them.

        `pack` is the most tokens of a pack. If it was halved, batches and logits are halved too.
        """
        anatomy = self.anatomy
        sections = trie.halves(min(pack, LEAST)) if in_threads else [None]
        logits = max(self._logits * pack // self._pack, 1)
        vocabularies = [self._vocabulary(trie, matrix, logits // len(sections)) for _ in sections]
        reads: list[int] = []

        def fill(vocabulary: Vocabulary, reads_of_section: Iterator[States]) -> Iterator[None]:
            kept = 0
            for nodes, states_RH, tokens in reads_of_section:
                vocabulary.add(nodes, states_RH)
                reads.append(tokens)
                kept += tokens
                if kept >= OFTEN:  # blocks of ever new sizes leave holes
                    give_back()
                    kept = 0
                advance(len(nodes))
                yield  # it stops here if the other half fails
            vocabulary.finish()
            advance(trie.positions / len(vocabularies))

        def read(section: Section | None) -> Iterator[States]:
            if whole:
                return self._whole(trie, self._batch_tokens * pack // self._pack, logits)
            return tree_states(
                tree_reads(anatomy.body, trie, pack, anatomy.keys, anatomy.steady, section=section)
            )

        if len(sections) > 1:
            lay_out(nn.ModuleList([anatomy.body, *matrix]))
        with for_threads(anatomy.body, anatomy.steady) if len(sections) > 1 else nullcontext():
            side_by_side(
                [
                    fill(vocabulary, read(section))
                    for vocabulary, section in zip(vocabularies, sections, strict=True)
                ]
            )
        values = vocabularies[0].values
        for vocabulary in vocabularies[1:]:
            values = values.where(~values.isnan(), vocabulary.values)
        return values, sum(reads)

    def _bears_threads(self) -> bool:
        """Whether threads may run the network's parts at the same time.

        bitsandbytes' layers, hooks and accelerate's parts may keep a state between calls, and autocast
        belongs to one thread.
        """
        body, head = self.anatomy.body, self.anatomy.network.get_output_embeddings()
        parts = [part for module in (body, head) if module is not None for part in module.modules()]
        stateless = not others(parts, STATELESS) and all(map(untouched, parts))
        return (
            stateless
            and takes_blocks(body)
            and torch.get_num_threads() > 1
            and not torch.is_autocast_enabled("cpu")
        )

    def _vocabulary(self, trie: Trie, matrix: nn.ModuleList, logits: int) -> Vocabulary:
        anatomy = self.anatomy
        return Vocabulary(trie, anatomy.heads(matrix), anatomy.exact if anatomy.rounds else None, logits)

    def _whole(self, trie: Trie, tokens: int, logits: int) -> Iterator[States]:
        anatomy = self.anatomy
        if anatomy.not_split:  # the network gives logits of every position
            tokens = min(tokens, logits // anatomy.network.get_input_embeddings().weight.shape[0])
        if anatomy.by_length is not None and trie.longest > anatomy.by_length:
            tokens = 0  # one by one: longer neighbours would change its rotary frequencies
        return whole_states(anatomy.network if anatomy.not_split else anatomy.body, trie, tokens)


def _parts(places: Sequence[int], lengths: Sequence[int], most: int) -> Iterator[Sequence[int]]:
    """Cut places of sequences into parts. A part has at most `most` tokens, or it is one sequence."""
    begin = tokens = 0
    for end, place in enumerate(places):
        tokens += lengths[place]
        if tokens > most and end > begin:
            yield places[begin:end]
            begin, tokens = end, lengths[place]
    if begin < len(places):
        yield places[begin:]


def _room(sequences: Sequence[Tokens]) -> Slices:
    """Room for the values of the scored tokens of all sequences, in their order."""
    ends = array("q")
    end = 0
    for ids, start in sequences:
        end += len(ids) - start
        ends.append(end)
    return Slices(torch.empty(end), ends)
