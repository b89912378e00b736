"""Model folders of every damage: cut, swapped, boasting of sizes, with code in them."""

import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack import damage, world
from tests.attack.attacker import QUIET, RAN, Attack, Damage, cases, check

DATA = ("debug=fast", *QUIET, "data=figqa_sample", "data.limit=4", "blind=false")
RUN, CAUSAL, ADAPTED = "run/seed0/model", "causal/model", "adapted/model"
# How a folder is opened: as a run, as a bare network, to be trained on.
READ: dict[str, tuple[str, tuple[str, ...]]] = {
    RUN: ("evaluate", (*DATA, "checkpoint=run/seed0")),
    CAUSAL: ("evaluate", (*DATA, "model=causal", "model.init=pretrained", f"model.name_or_path={CAUSAL}")),
    ADAPTED: ("merge", (*QUIET, "checkpoint=adapted", "output=merged", "data=figqa_sample", "data.limit=4")),
}
FILES = {
    RUN: ("figlang.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
    CAUSAL: ("config.json", "model.safetensors", "tokenizer.json"),
    ADAPTED: ("figlang.json", "adapter_config.json", "adapter_model.safetensors"),
}


class Evil:
    """A pickle that writes a file when it is read."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path(RAN),)


def files() -> Iterator[Attack]:
    for place, (command, words) in READ.items():
        for file in FILES[place]:
            name = f"{place}/{file}"
            for kind, make in (damage.ANY | (damage.JSON if file.endswith(".json") else {})).items():
                # A tokenizer or a recipe is not needed everywhere.
                says = (
                    None
                    if file.startswith("tokenizer") or (file == "figlang.json" and kind == "missing")
                    else ""
                )
                yield Attack(f"{name} {kind}", command, words, says, make(name))


# Entries of config.json and what the error names; None where the network still reads.
ENTRIES: dict[str, tuple[dict[str, Any], str | None]] = {
    "hidden_size huge": ({"hidden_size": 10**9}, "hidden_size|config.json"),
    "hidden_size large": ({"hidden_size": 2**16}, "hidden_size|config.json|weights"),
    "hidden_size 0": ({"hidden_size": 0}, ""),
    "hidden_size -1": ({"hidden_size": -1}, ""),
    "hidden_size word": ({"hidden_size": "wide"}, ""),
    "hidden_size null": ({"hidden_size": None}, ""),
    "hidden_size 1.5": ({"hidden_size": 1.5}, ""),
    "vocab_size huge": ({"vocab_size": 10**12}, "vocab_size|config.json"),
    "vocab_size large": ({"vocab_size": 2**26}, "vocab_size|config.json|weights"),
    "vocab_size 1": ({"vocab_size": 1}, ""),
    "intermediate_size huge": ({"intermediate_size": 10**12}, "intermediate_size|config.json"),
    "max_position_embeddings huge": ({"max_position_embeddings": 10**12}, ""),
    "max_position_embeddings 0": ({"max_position_embeddings": 0}, ""),
    "max_position_embeddings -1": ({"max_position_embeddings": -1}, ""),
    "layers huge": ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
    "layers 0": ({"num_hidden_layers": 0}, None),
    "layers word": ({"num_hidden_layers": "many"}, ""),
    "heads 0": ({"num_attention_heads": 0}, ""),
    "heads 7": ({"num_attention_heads": 7}, ""),
    "heads huge": ({"num_attention_heads": 10**9}, ""),
    "type_vocab_size huge": ({"type_vocab_size": 10**12}, "type_vocab_size|config.json"),
    "model_type unknown": ({"model_type": "nothing"}, "nothing"),
    "model_type missing": ({"model_type": ...}, "model_type"),
    "model_type another": ({"model_type": "gpt2"}, ""),
    "model_type list": ({"model_type": ["bert"]}, ""),
    "architectures": ({"architectures": ["os.system"]}, None),
    "architectures word": ({"architectures": "x"}, None),
    "auto_map": ({"auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Network"}}, None),
    "auto_map list": ({"auto_map": ["x"]}, None),
    "activation": ({"hidden_act": "__import__('os')"}, ""),
    "dtype": ({"dtype": "float3"}, ""),
    "torch_dtype": ({"torch_dtype": "os.system"}, None),
    "pad_token_id": ({"pad_token_id": 10**12}, ""),
    "attention": ({"_attn_implementation": "nothing/here"}, None),
    "quantized": ({"quantization_config": {"quant_method": "nothing"}}, None),
    "quantized list": ({"quantization_config": [1]}, ""),
    "id2label": ({"id2label": [1]}, ""),
    "epsilon nan": ({"layer_norm_eps": float("nan")}, ""),
    "dropout 7": ({"hidden_dropout_prob": 7}, ""),
}


def entries() -> Iterator[Attack]:
    command, words = READ[RUN]
    for name, (values, says) in ENTRIES.items():
        yield Attack(name, command, words, says, damage.entries(f"{RUN}/config.json", **values))
    for values in (
        {"hidden_size": 10**9, "n_embd": 10**9},
        {"vocab_size": 10**12},
        {"n_positions": 10**12},
        {"n_layer": 10**9},
    ):
        name = next(iter(values))
        yield Attack(f"causal {name}", *READ[CAUSAL], "", damage.entries(f"{CAUSAL}/config.json", **values))
    for entry, value in (
        ("scale", float("inf")),
        ("max_length", 0),
        ("max_length", -5),
        ("max_length", 10**30),
        ("options", 0),
    ):
        yield Attack(
            f"recipe {entry} {value}",
            command,
            words,
            "",
            damage.entries(f"{RUN}/figlang.json", **{entry: value}),
        )
    huge = damage.changed(
        f"{RUN}/figlang.json", lambda content: content.replace(b'"scale": 20.0', b'"scale": 1e400')
    )
    yield Attack("recipe scale 1e400", command, words, "scale", huge)


def weights() -> Iterator[Attack]:
    for place, file in (
        (RUN, "model.safetensors"),
        (CAUSAL, "model.safetensors"),
        (ADAPTED, "adapter_model.safetensors"),
    ):
        for change in ("less", "more", "smaller", "whole numbers", "nan", "inf", "none"):

            def spoil(home: Path, name: str = f"{place}/{file}", change: str = change) -> None:
                world.tensors(home, name, change)

            says = None if change in ("more", "whole numbers") else ""
            yield Attack(f"{place} {change}", *READ[place], says, spoil)
        for name, content in _headers().items():
            yield Attack(f"{place} {name}", *READ[place], "", damage.holding(f"{place}/{file}", content))
    for name, content in _headers().items():
        yield Attack(
            f"train on {name}",
            "train",
            (*DATA[:-1], "model=minilm", "model.init=pretrained", f"model.name_or_path={RUN}"),
            "",
            damage.holding(f"{RUN}/model.safetensors", content),
        )


def _headers() -> dict[str, bytes]:
    def header(text: bytes) -> bytes:
        return struct.pack("<Q", len(text)) + text

    return {
        "header of 2**63": struct.pack("<Q", 2**63) + b"{}",
        "header cut": header(b'{"a": {"dtype": "F32", "shape": [2'),
        "header nested": header(b'{"a":' + b"[" * 100_000),
        "offsets outside": header(b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 800]}}')
        + bytes(8),
        "shape of 2**60": header(
            b'{"a": {"dtype": "F32", "shape": [1152921504606846976], "data_offsets": [0, 8]}}'
        )
        + bytes(8),
        "shape below 0": header(b'{"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}') + bytes(8),
        "type unknown": header(b'{"a": {"dtype": "F3", "shape": [2], "data_offsets": [0, 8]}}') + bytes(8),
    }


def gguf() -> Iterator[Attack]:
    magic = b"GGUF" + struct.pack("<I", 3)
    key = struct.pack("<Q", 20) + b"general.architecture" + struct.pack("<I", 8)
    contents = {
        "empty": b"",
        "magic": b"GGUF",
        "another magic": b"GGML" + bytes(100),
        "version 99": b"GGUF" + struct.pack("<IQQ", 99, 0, 0),
        "nothing in it": magic + struct.pack("<QQ", 0, 0),
        "2**60 tensors": magic + struct.pack("<QQ", 2**60, 0),
        "2**60 entries": magic + struct.pack("<QQ", 0, 2**60),
        "a key of 2**60": magic + struct.pack("<QQQ", 0, 1, 2**60) + b"x",
        "a value of 2**60": magic + struct.pack("<QQ", 0, 1) + key + struct.pack("<Q", 2**60) + b"x",
        "an unknown architecture": magic + struct.pack("<QQ", 0, 1) + key + struct.pack("<Q", 7) + b"nothing",
        "llama and nothing else": magic + struct.pack("<QQ", 0, 1) + key + struct.pack("<Q", 5) + b"llama",
        "a type of 77": magic + struct.pack("<QQ", 0, 1) + key[:-4] + struct.pack("<IQ", 77, 1) + b"x",
        "binary": damage.BINARY,
        "a page": damage.PAGE,
    }
    for name, content in contents.items():
        words = (*DATA, "model=causal", "model.init=pretrained", "model.name_or_path=file.gguf")
        yield Attack(f"gguf {name}", "evaluate", words, "gguf|GGUF", damage.holding("file.gguf", content))


def places() -> Iterator[Attack]:
    """Values of checkpoint= and model.name_or_path= that lead to no network."""
    for place, value in enumerate(
        (
            "nowhere",
            "no/where",
            "''",
            ".",
            "/",
            "~",
            "..",
            "run",
            "one",
            "/dev/null",
            "/dev/zero",
            "people.csv",
            "package:nothing/x",
            "package:figlang/data",
            "x" * 300,
            "https://localhost:1/x",
            "a/b/c/d",
            "-",
            "none",
            "run/seed0/model/config.json",
        )
    ):
        yield Attack(f"checkpoint {place} {value[:20]}", "evaluate", (*DATA, f"checkpoint={value}"), "")
        words = (*DATA, "model=causal", "model.init=pretrained", f"model.name_or_path={value}")
        yield Attack(f"name_or_path {place} {value[:20]}", "evaluate", words, "")
        if place % 3 == 0:
            yield Attack(
                f"merge {place} {value[:20]}",
                "merge",
                (*QUIET, f"checkpoint={value}", "output=merged", "data=figqa_sample"),
                "",
            )
            words = (
                *DATA[:-1],
                "model=minilm",
                "model.init=pretrained",
                f"model.name_or_path={value}",
                "run=new",
            )
            yield Attack(f"train {place} {value[:20]}", "train", words, "")


def pickles() -> Iterator[Attack]:
    def only(home: Path, name: str) -> None:
        (home / RUN / "model.safetensors").unlink()
        (home / RUN / name).write_bytes(pickle.dumps(Evil()))

    for name in (
        "pytorch_model.bin",
        "model.pt",
        "model.ckpt",
        "training_args.bin",
        "tf_model.h5",
        "flax_model.msgpack",
    ):
        for allow in ((), ("model.allow_bin=true",)):
            spoil: Damage = lambda home, name=name: only(home, name)  # noqa: E731
            words = (*DATA, "model=minilm", "model.init=pretrained", f"model.name_or_path={RUN}", *allow)
            yield Attack(f"{name} {' '.join(allow)}", "evaluate", words, "", spoil)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.build(tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("attack", cases([*files(), *entries(), *weights(), *gguf(), *places(), *pickles()]))
def test_a_model(tmp_path: Path, whole: Path, attack: Attack) -> None:
    check(world.copied(whole, tmp_path), attack)
