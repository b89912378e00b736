"""Log-probabilities of continuations by an engine, with strings and tokens like those of a local network."""

import logging
from collections.abc import Iterable

from figlang.models.hosted.engine import Engine
from figlang.scoring.requests import Request, RequestEncoder, Scored

log = logging.getLogger("figlang")


class HostedScorer:
    """Scores requests by an engine.

    Args:
        engine: The engine.
        bos: The tokens before every string, as for `RequestEncoder`.
        overflow: What becomes of strings that are too long, as for `RequestEncoder`.
    """

    def __init__(self, engine: Engine, bos: str | int = "none", overflow: str = "error") -> None:
        self._engine = engine
        # The last token of a string is read too, and one token is generated after it.
        self._encoder = RequestEncoder(engine.parts.tokenizer, bos, overflow, engine.window - 2)

    def score(self, requests: Iterable[Request], progress: bool = False) -> Scored:
        """Log-probabilities (in nats) of the tokens of every continuation, in the order of the requests.

        Raises:
            FiglangError: As RequestEncoder.encode does. It names the request.
        """
        sequences, truncated = self._encoder.encode(requests)
        if truncated:
            log.warning("%d of %d requests were truncated on the left", truncated, len(sequences))
        found = self._engine.log_probs(sequences, progress)
        read = sum(len(ids) for ids in {tuple(sequence.ids) for sequence in sequences})
        tokens = sum(len(sequence.ids) - 1 for sequence in sequences)
        return Scored(found, truncated, tokens, read, read, None)
