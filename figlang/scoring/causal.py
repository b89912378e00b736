"""Log-probabilities of continuations under a causal language model, computing what requests share only once."""

import logging
from collections.abc import Iterable, Iterator, Sequence

import torch
from rich.progress import Progress, TimeElapsedColumn
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from figlang.cpu.blocks import takes_blocks
from figlang.cpu.hasten import hastened
from figlang.scoring.anatomy import dissect
from figlang.scoring.requests import Request, RequestEncoder, Scored, Tokens
from figlang.scoring.states import States, tree_states, whole_states
from figlang.scoring.trie import Trie, grow
from figlang.scoring.vocabulary import Vocabulary

log = logging.getLogger("figlang")


class CausalScorer:
    """Scores requests with a causal network; build it once per network, since that is when the network is probed.

    Every distinct prefix of the token sequences is read once: they form a trie that is cut into packs of `pack` tokens,
    in which a token attends to its own path (design: SpecInfer's tree attention, arXiv 2305.09781). The vocabulary
    matrix is applied only where a token is scored, at most `logits` values at a time. The probe compares this with the
    plain network; where it differs (recurrent networks, unknown code) or an input is longer than an attention window,
    distinct sequences are run whole, padded, at most `batch_tokens` at a time, with the same results, and the log says so.

    Results equal the network's own loss times length, sequence by sequence, to float32 rounding. A network in bf16 is
    run in bf16; the logits that matter and all log-probabilities are float32, and on a CPU, where beginnings are shared and its
    code takes that, the sums of its layers too. Dropout is switched off.

    `bos` and `overflow` are those of RequestEncoder.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        bos: str | int = "none",
        overflow: str = "error",
        pack: int | None = None,
        batch_tokens: int = 1024,
        logits: int = 2**23,
    ) -> None:
        config = network.config.get_text_config()
        self.encoder = RequestEncoder(tokenizer, bos, overflow, getattr(config, "max_position_embeddings", None))
        self._batch_tokens = batch_tokens
        self._logits = logits
        self._anatomy = dissect(network.eval())
        # Attention to other branches is wasted work that grows with the pack; a GPU hides it, a CPU does not unless it is cut.
        on_cpu = 1024 if takes_blocks(self._anatomy.body) else 256
        self._pack = pack or (on_cpu if network.device.type == "cpu" else 2048)

    @torch.inference_mode()
    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        """Per-token log-probabilities of every continuation, in the order of the requests.

        A continuation has one value per token of its own; with `bos=none` and an empty context the first has none.

        Raises FiglangError that names the request, see RequestEncoder.encode.
        """
        return self.score_tokens(*self.encoder.encode(requests), progress)

    @torch.inference_mode()
    def score_tokens(self, sequences: Sequence[Tokens], truncated: int = 0, progress: bool = False) -> Scored:
        """The same of token sequences, as the encoder makes them; `truncated` is how many of them it has cut."""
        self._anatomy.network.eval()
        if not sequences:
            return Scored([], 0, 0, 0, 0, None)
        if truncated:
            log.warning("%d of %d requests were truncated on the left", truncated, len(sequences))
        reasons = {length: self._anatomy.reason(length) for length in {len(sequence.ids) - 1 for sequence in sequences}}
        alone = [place for place, each in enumerate(sequences) if reasons[len(each.ids) - 1]]
        fallback = reasons[max(reasons)]
        if fallback:
            log.info("causal scoring runs %d of %d sequences whole, sharing nothing: %s", len(alone), len(sequences), fallback)
        log_probs: list[Tensor] = [torch.empty(0)] * len(sequences)
        read = positions = 0
        bar = Progress(*Progress.get_default_columns(), TimeElapsedColumn(), disable=not progress)
        with hastened(self._anatomy.network), bar:
            # Those that are too long for sharing do not keep the others from it.
            shared = sorted(set(range(len(sequences))) - set(alone))
            for places, whole in ((shared, False), (alone, True)):
                if not places:
                    continue
                trie = grow([sequences[place] for place in places])
                values, used = self._run(trie, whole, bar)
                read, positions = read + used, positions + trie.positions
                for place, span in zip(places, trie.spans, strict=True):
                    log_probs[place] = values[span]
        tokens = sum(len(sequence.ids) - 1 for sequence in sequences)
        return Scored(log_probs, truncated, tokens, read, positions, fallback)

    def _run(self, trie: Trie, whole: bool, bar: Progress) -> tuple[Tensor, int]:
        """Log-probabilities of the trie's scored nodes, and how many tokens were read for them."""
        vocabulary = self._vocabulary(trie)
        anatomy = self._anatomy
        states = self._whole(trie) if whole else tree_states(anatomy.body, trie, self._pack, anatomy.keys, anatomy.steady)
        task = bar.add_task("scoring", total=len(trie.read))
        read = 0
        for nodes, states_RH, tokens in states:
            vocabulary.add(nodes, states_RH)
            read += tokens
            bar.advance(task, len(nodes))
        return vocabulary.finish(), read

    def _vocabulary(self, trie: Trie) -> Vocabulary:
        anatomy = self._anatomy
        if anatomy.not_split:
            return Vocabulary(trie, None, None, self._logits)
        return Vocabulary(trie, anatomy.head, anatomy.exact if anatomy.rounds else None, self._logits)

    def _whole(self, trie: Trie) -> Iterator[States]:
        anatomy = self._anatomy
        tokens = self._batch_tokens
        if anatomy.not_split:  # logits of every position come out
            tokens = min(tokens, self._logits // anatomy.network.get_input_embeddings().weight.shape[0])
        if anatomy.by_length is not None and trie.longest > anatomy.by_length:
            tokens = 0  # one sequence at a time: its companions must not change its frequencies
        return whole_states(anatomy.network if anatomy.not_split else anatomy.body, trie, tokens)
