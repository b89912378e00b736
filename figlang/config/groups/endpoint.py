"""The fields of `model=served`: a model behind an OpenAI-compatible endpoint."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from figlang.config.section import AMOUNT, POSITIVE, Range, Section, option
from figlang.errors import FiglangError
from figlang.files.redaction import hide, hide_variable

# A part of a path that is a key and not a word: many letters and digits in a row, a UUID, or the beginning
# that keys have.
KEYLIKE = re.compile(
    r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}|[A-Za-z0-9]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|"
    r"^(?:sk|hf|pk|key)[-_][\w-]{8,}"
)

# Names of fields that hold a key, for example api_key or Authorization. Other fields have similar names, for
# example eos_token and prompt_cache_key.
SECRET = re.compile(
    r"(?:.*[_-])?(?:api|access|auth|secret|private)[_-]?key|(?:.*[_-])?(?:api|access|auth|bearer|id|refresh)[_-]?token|"
    r"token|bearer|(?:.*[_-])?(?:secret|password|authorization|credentials?)",
    flags=re.IGNORECASE,
)

ADDRESSES = {"anthropic": "https://api.anthropic.com", "google": "https://generativelanguage.googleapis.com"}
# What stands behind an address without a path. Google's v1 lacks system instructions and JSON schemas.
VERSIONS = {"google": "v1beta"}
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}


@dataclass
class EndpointConfig(Section):
    endpoint: str | None = option(
        None, "served: address of the OpenAI-compatible server, for example http://localhost:8000/v1."
    )
    api: str = option(
        "openai",
        "served: the interface of the server. openai: most servers have it. anthropic and google: their own.",
        ("openai", "anthropic", "google"),
    )
    key_env: str = option(
        "OPENAI_API_KEY",
        "served: name of the environment variable that holds the key, if one is needed. The other interfaces "
        "have ANTHROPIC_API_KEY and GEMINI_API_KEY.",
    )
    concurrency: int = option(
        16, "served: number of requests at the same time.", within=Range(above=0, most=10_000)
    )
    timeout: float = option(
        120.0, "served: seconds after which a request without an answer is repeated.", within=POSITIVE
    )
    retries: int = option(
        6,
        "served: how often a request is repeated after 408, 409, 429, 5xx, time-outs and lost connections.",
        within=Range(least=0, most=10_000),
    )
    input_price: float = option(
        0.0, "served: price per million tokens that are sent, in model.currency.", within=AMOUNT
    )
    output_price: float = option(
        0.0, "served: price per million tokens that come back, in model.currency.", within=AMOUNT
    )
    currency: str = option("USD", "served: the currency of prices and costs.")
    max_cost: float | None = option(
        None,
        "served: stop before a command's requests cost more than this, in model.currency.",
        within=POSITIVE,
    )

    dry_run: bool = option(
        False, "served: say how many requests, tokens, money and time the command takes, and send nothing."
    )
    speed: float = option(
        40.0,
        "served: expected speed of replies in tokens a second, from which a dry run estimates the time.",
        within=POSITIVE,
    )
    batch: str | None = option(
        None,
        "served: folder for requests as files in OpenAI's batch format, at half the price. The command stops "
        "after writing them, and reads files of results that lie there.",
    )
    extra_body: dict[str, Any] = field(
        default_factory=dict,
        metadata={
            "help": "served: further fields of every request, for example {top_k: 20}.",
            "choices": (),
        },
    )

    def check_endpoint(self, served: bool) -> None:
        """Raises FiglangError for a wrong endpoint, and for settings of an endpoint with another model."""
        if not served:
            given = [name for name, unset in vars(EndpointConfig()).items() if getattr(self, name) != unset]
            if given:
                raise FiglangError(
                    f"model.{given[0]} is for a model behind an endpoint; use model=served, or leave it out"
                )
            return
        if self.api != "openai":
            self.endpoint = self.endpoint or ADDRESSES[self.api]
            if self.key_env == EndpointConfig.key_env:
                self.key_env = KEYS[self.api]
            if self.batch is not None:
                raise FiglangError(
                    f"model.batch writes OpenAI's format, but this is model.api={self.api}; leave it out"
                )
        if not self.endpoint:
            raise FiglangError(
                "model.endpoint is missing; give the server's address, for example "
                "model.endpoint=http://localhost:8000/v1"
            )
        # None of these messages repeats the value: it would hold the key.
        try:
            parts = urlsplit(self.endpoint)
            _ = parts.port
        except ValueError as error:
            raise FiglangError(
                "model.endpoint is not an address; it looks like http://localhost:8000/v1, with a port of "
                "at most 65535"
            ) from error
        if parts.username or parts.password or parts.query or parts.fragment:
            raise FiglangError(
                "model.endpoint holds more than an address; keys belong into the variable that model.key_env "
                "names"
            )
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.key_env):
            raise FiglangError(
                "model.key_env is the name of an environment variable (OPENAI_API_KEY), never a key itself"
            )
        if secret := next(_secrets(self.extra_body), None):
            raise FiglangError(
                f"model.extra_body holds a key in {secret}, which would be written into results; keys belong "
                "into the variable that model.key_env names"
            )
        hide_variable(self.key_env)
        for segment in parts.path.split("/"):
            if KEYLIKE.search(segment):
                hide(segment, "key")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FiglangError(
                f"model.endpoint={self.endpoint} is not an address; it looks like http://localhost:8000/v1"
            )
        if self.max_cost is not None and not self.input_price + self.output_price:
            raise FiglangError(
                f"model.max_cost={self.max_cost:g} needs prices: set model.input_price and "
                f"model.output_price, in {self.currency} per million tokens"
            )

    @property
    def base_url(self) -> str:
        """The base address of requests. A host without a path gets the usual one."""
        assert self.endpoint is not None
        bare = self.endpoint.rstrip("/")
        return bare if urlsplit(bare).path else f"{bare}/{VERSIONS.get(self.api, 'v1')}"


def _secrets(content: Any) -> Iterator[str]:
    """The names of fields that hold a key, at any depth."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            if isinstance(value, str) and value and SECRET.fullmatch(str(name)):
                yield str(name)
            yield from _secrets(value)
    elif isinstance(content, list | tuple):
        for each in content:
            yield from _secrets(each)
