"""A chat model as protocols use it: conversations in, replies out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from figlang.config import ProtocolConfig, SamplingConfig
from figlang.errors import FiglangError, owned
from figlang.evaluation import generation
from figlang.models.checkpoint import Served
from figlang.models.hosted.opened import Opened
from figlang.scoring import reading
from figlang.types import Chat, Reply, Turn

THOUGHT = ("<think>", "</think>")


@dataclass(frozen=True)
class Speaker:
    """A chat model, here or behind an endpoint, with the settings of a protocol.

    Attributes:
        model: The model.
        settings: The protocol.
        max_tokens: The longest reply in tokens.
        progress: Whether to show a bar.
    """

    model: Opened
    settings: ProtocolConfig
    max_tokens: int
    progress: bool = False

    def sampling(self, n: int | None = None, shift: int = 0) -> SamplingConfig:
        """How replies are drawn: `n` of them (None: as many as the protocol says), with another seed for
        each `shift`."""
        settings = self.settings
        return SamplingConfig(
            temperature=settings.temperature,
            top_p=settings.top_p,
            n=settings.n if n is None else n,
            max_tokens=self.max_tokens,
            seed=settings.seed + shift,
        )

    def opened(self, *turns: Turn) -> Chat:
        """A conversation, with the system message before its turns."""
        return (*((Turn("system", self.settings.system),) if self.settings.system else ()), *turns)

    def replies(
        self,
        chats: Sequence[Chat],
        owners: Sequence[str],
        sampling: SamplingConfig | None = None,
        letters: Sequence[int] = (),
    ) -> list[list[Reply]]:
        """The replies to conversations. Equal conversations are held once.

        Args:
            chats: The conversations, each of which ends with a turn of the user.
            owners: For each the id of its item, for errors.
            sampling: How they are drawn; None: as the protocol says.
            letters: For each how many letters a server may allow; empty: replies are free.
        """
        sampling = sampling or self.sampling()
        counts = dict(zip(chats, letters or [0] * len(chats), strict=True))
        first: dict[Chat, str] = {}
        for chat, owner in zip(chats, owners, strict=True):
            first.setdefault(chat, owner)
        # In one go, so that an endpoint's estimate counts all of them.
        with owned(list(first.values())):
            several = generation.converse(
                self.model,
                list(first),
                sampling,
                self.progress,
                self.settings,
                [counts[chat] for chat in first],
            )
        found = dict(zip(first, several, strict=True))
        known = {chat: [self._counted(self._tagged(reply)) for reply in each] for chat, each in found.items()}
        return [known[chat] for chat in chats]

    def _tagged(self, reply: Reply) -> Reply:
        """The reply with tags of reasoning that all readers know in place of the model's own."""
        text = reply.text
        for own, known in zip(self.settings.think_tags, THOUGHT, strict=False):
            text = text.replace(own, known)
        return reply if text == reply.text else replace(reply, text=text)

    def _counted(self, reply: Reply) -> Reply:
        """The reply with the number of tokens of its reasoning. An endpoint counts them itself."""
        if isinstance(self.model, Served) or not (thought := reading.reasoning(reply)):
            return reply
        ids = self.model.tokenizer(thought, add_special_tokens=False)["input_ids"]
        return replace(reply, tokens_reasoning=len(ids))


def checked(speaker: Speaker) -> None:
    """Refuse settings that have no effect on a model.

    Raises:
        FiglangError: A setting is for endpoints, and the model is here, or the other way round.
    """
    settings = speaker.settings
    if isinstance(speaker.model, Served):
        if settings.chat == "plain":
            raise FiglangError(
                "protocol.chat=plain is for a network here; a server writes conversations itself, so leave "
                "it out"
            )
        return
    for name, unset in (("constrain", "none"), ("reasoning_effort", None)):
        if (value := getattr(settings, name)) != unset:
            raise FiglangError(
                f"protocol.{name}={value} is for model=served; leave it out, or use protocol=logprobs, which "
                "allows letters only"
            )
