"""Log-probabilities of continuations by a model behind an endpoint, which has its own tokenizer."""

from collections.abc import Iterable, Sequence

import torch

from figlang.errors import FiglangError, one_line
from figlang.models.served.abilities import opening
from figlang.models.served.endpoint import Endpoint
from figlang.models.served.spans import Token
from figlang.scoring.requests import Request, RequestError, Scored


class ServedScorer:
    """Scores requests by an endpoint that gives log-probabilities of prompts.

    Continuations are found in the answers by character. A token that crosses the beginning of a continuation
    belongs to it, and so do the spaces before it, as for local models. A text that several requests share is
    sent once.

    Args:
        endpoint: The endpoint.
        bos: Text that is sent before every string: the token that begins a string for this model. `none` and
            `server` (the server adds it) send nothing.
    """

    def __init__(self, endpoint: Endpoint, bos: str = "none") -> None:
        self._endpoint = endpoint
        self._before = opening(bos)

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        """Log-probabilities (in nats) of the tokens of every continuation, in the order of the requests.

        A continuation that a content filter refused has none.

        Raises:
            FiglangError: If the endpoint cannot be asked, or if a continuation cannot be found in an answer.
        """
        asked = list(requests)
        for index, request in enumerate(asked):
            if not request.continuation:
                raise RequestError(index, request, "has an empty continuation; there is nothing to score")
        texts = [self._before + request.context + request.continuation for request in asked]
        distinct = list(dict.fromkeys(texts))
        answers = dict(zip(distinct, self._endpoint.read(distinct, progress, self._before), strict=True))
        log_probs: list[torch.Tensor] = []
        tokens, read = 0, {}
        for index, (request, text) in enumerate(zip(asked, texts, strict=True)):
            tokens_of_text = answers[text]
            if tokens_of_text is None:
                log_probs.append(torch.tensor([]))
                continue
            try:
                log_probs.append(
                    torch.tensor(_continuation(tokens_of_text, len(self._before) + request.boundary))
                )
            except FiglangError as error:
                raise RequestError(index, request, f"cannot be scored: {one_line(error)}") from error
            read[text] = len(tokens_of_text)
            tokens += len(tokens_of_text)
        return Scored(log_probs, 0, tokens, sum(read.values()), sum(read.values()), None)


def _continuation(tokens: Sequence[Token], boundary: int) -> list[float]:
    if sum(token.start < boundary < token.end for token in tokens) > 1:
        raise FiglangError("the endpoint's tokens do not show where its continuation begins")
    own = [token for token in tokens if token.end > boundary] if boundary else tokens
    values = [token.log_prob for token in own if token.log_prob is not None]
    if not values:
        raise FiglangError(
            "its continuation is the first token of the string, which has no probability; set model.bos "
            "to the text of the token that begins a string"
        )
    return values
