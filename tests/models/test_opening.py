"""Code that comes with a model is not run without model.trust_remote_code=true, whatever stdin says."""

import contextlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figlang.config import ModelConfig
from figlang.errors import FiglangError
from figlang.evaluation import predicting
from figlang.models import checkpoint, gguf, networks, opening, tiny
from figlang.models.formats import FORMATS
from tests import running
from tests.models.test_checkpoint import TEXTS
from tests.models.test_gguf import tiny as tiny_gguf  # noqa: F401  a fixture
from tests.models.trained import exported as adapters

CODE = """
from pathlib import Path
Path({marker!r}).write_text("ran")
from transformers import (
    BertConfig,
    BertForMultipleChoice,
    BertModel,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
class Config(BertConfig):
    model_type = "foreign"
class Network(BertModel):
    config_class = Config
class Tokenizer(PreTrainedTokenizerFast):
    pass
"""
AUTO = (
    "AutoModel",
    "AutoModelForMultipleChoice",
    "AutoModelForSequenceClassification",
    "AutoModelForMaskedLM",
)
NETWORKS = dict.fromkeys([*AUTO, "AutoModelForCausalLM"], "code.Network")


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What foreign code would write; whoever asks is answered yes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 100))
    # Where code is run on purpose, nothing of it outlives the test.
    for module in ("transformers.dynamic_module_utils", "transformers.utils.hub"):
        monkeypatch.setattr(f"{module}.HF_MODULES_CACHE", str(tmp_path / "modules"), raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / "ran"


def infect(folder: Path, marker: Path, file: str, **entries: Any) -> None:
    """The folder with foreign code, and an auto_map (or other entries) in one of its files that names it."""
    (folder / "code.py").write_text(CODE.format(marker=str(marker)))
    path = folder / file
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(content | entries))


def encoder(folder: Path, architecture: str = "bert", format: str = "dual") -> Path:
    network, tokenizer = networks.build(ModelConfig(init="tiny", architecture=architecture), format, TEXTS, 2)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def config(folder: Path, marker: Path) -> Path:
    infect(
        encoder(folder),
        marker,
        "config.json",
        model_type="foreign",
        auto_map={"AutoConfig": "code.Config"} | NETWORKS,
    )
    return folder


def network(folder: Path, marker: Path) -> Path:
    # transformers has no GPT-2 for multiple choice, so that only the folder's code could be one.
    infect(encoder(folder, "gpt2"), marker, "config.json", auto_map=NETWORKS)
    return folder


def tokenizer(folder: Path, marker: Path) -> Path:
    named = {
        "tokenizer_class": "Tokenizer",
        "auto_map": {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]},
    }
    infect(encoder(folder), marker, "tokenizer_config.json", **named)
    return folder


def processor(folder: Path, marker: Path) -> Path:
    for file in ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json"):
        infect(
            encoder(folder),
            marker,
            file,
            processor_class="Tokenizer",
            auto_map={"AutoProcessor": "code.Tokenizer"},
        )
    return folder


def generate(folder: Path, marker: Path) -> Path:
    (encoder(folder) / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text(CODE.format(marker=str(marker)))
    return folder


def adapter(folder: Path, marker: Path) -> Path:
    _, made = adapters(folder, "pair")
    foreign = {"AutoConfig": "code.Config"} | NETWORKS
    infect(made, marker, "config.json", model_type="foreign", auto_map=foreign)
    return made


def adapter_head(folder: Path, marker: Path) -> Path:
    _, made = adapters(folder, "dual", "gpt2")
    infect(made, marker, "config.json", auto_map=NETWORKS)
    manifest = json.loads((made / "figlang.json").read_text())
    (made / "figlang.json").write_text(json.dumps(manifest | {"format": "pair"}))
    return made


def adapter_settings(folder: Path, marker: Path) -> Path:
    _, made = adapters(folder, "pair")
    mapping = {"base_model_class": "Network", "parent_library": "code"}
    infect(made, marker, "adapter_config.json", auto_mapping=mapping, auto_map={"AutoModel": "code.Network"})
    return made


def adapter_tokenizer(folder: Path, marker: Path) -> Path:
    _, made = adapters(folder, "pair")
    tokenizer(folder / "other", marker)
    for path in (folder / "other").glob("tokenizer*"):
        (made / path.name).write_bytes(path.read_bytes())
    infect(made, marker, "adapter_config.json")
    return made


def base_network(folder: Path, marker: Path) -> Path:
    _, made = adapters(folder, "pair")
    infect(
        folder / "base",
        marker,
        "config.json",
        model_type="foreign",
        auto_map={"AutoConfig": "code.Config"} | NETWORKS,
    )
    return made


def base_tokenizer(folder: Path, marker: Path) -> Path:
    _, made = adapters(folder, "pair")
    named = {
        "tokenizer_class": "Tokenizer",
        "auto_map": {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]},
    }
    infect(folder / "base", marker, "tokenizer_config.json", **named)
    return made


PLACES: list[Callable[[Path, Path], Path]] = [
    *(config, network, tokenizer, processor, generate),
    *(adapter, adapter_head, adapter_settings, adapter_tokenizer, base_network, base_tokenizer),
]


def everything(folder: Path, cache: Path) -> list[str]:
    """Opens the folder in every way there is; returns what was refused."""
    model = ModelConfig(name="tiny", name_or_path=str(folder))
    causal = ModelConfig(name="tiny", name_or_path=str(folder), family="causal")
    ways: list[Callable[[], object]] = [
        lambda: checkpoint.load(str(folder)),
        lambda: checkpoint.load_unmerged(str(folder)),
        lambda: checkpoint.pretrained(model, None, str(cache)),
        lambda: checkpoint.pretrained(causal, None, str(cache)),
        lambda: networks.masked(model),
        lambda: checkpoint.ancestry(model),
        *(lambda format=format: networks.begin(model, format, [], 2) for format in FORMATS),
    ]
    refused = []
    for way in ways:
        try:
            way()
        except FiglangError as error:
            refused.append(str(error))
    return refused


# PEFT warns about the auto_map, which it ignores.
@pytest.mark.filterwarnings("ignore:Unexpected keyword arguments")
@pytest.mark.parametrize("place", PLACES)
def test_no_place_runs_code_though_stdin_says_yes(
    place: Callable[[Path, Path], Path], tmp_path: Path, marker: Path
) -> None:
    folder = place(tmp_path / "model", marker)
    refused = everything(folder, tmp_path / "cache")
    assert not marker.exists()
    assert not any("\n" in text for text in refused)
    assert sys.stdin.read(2) == "y\n", "nobody was asked"
    if place in (config, network, adapter, base_network, adapter_head):
        assert any("set model.trust_remote_code=true" in text for text in refused), refused


def test_nor_does_the_folder_around_a_gguf_file(
    tmp_path: Path,
    marker: Path,
    tiny_gguf: Path,  # noqa: F811
) -> None:
    foreign = {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"], "AutoConfig": "code.Config"} | NETWORKS
    for file in ("config.json", "tokenizer_config.json", "generation_config.json"):
        infect(
            tiny_gguf.parent,
            marker,
            file,
            model_type="foreign",
            tokenizer_class="Tokenizer",
            auto_map=foreign,
        )
    with contextlib.suppress(FiglangError):
        gguf.folder(str(tiny_gguf), str(tmp_path / "cache"))
    assert not marker.exists()
    assert sys.stdin.read(2) == "y\n", "nobody was asked"


@pytest.mark.parametrize("place", [config, adapter, tokenizer])
def test_a_command_ends_in_one_line(
    place: Callable[[Path, Path], Path], tmp_path: Path, marker: Path
) -> None:
    folder = place(tmp_path / "model", marker)
    ended = running.run(tmp_path, "evaluate.py", f"checkpoint={folder}", "data=figqa_sample", "trainer=cpu")
    assert not marker.exists()
    assert ended.returncode in (0, 2)
    assert "Traceback" not in ended.stderr
    if place is not tokenizer:
        assert ended.returncode == 2
        assert "set model.trust_remote_code=true" in ended.stderr


def test_attention_code_is_not_fetched(tmp_path: Path) -> None:
    path = encoder(tmp_path) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"attn_implementation": "someone/kernel"}))
    with pytest.raises(FiglangError, match=r"names attention code \(someone/kernel\)"):
        checkpoint.load(str(tmp_path))


def test_who_trusts_code_has_it_run_and_in_the_signature(tmp_path: Path, marker: Path) -> None:
    folder = config(tmp_path / "model", marker)
    model = ModelConfig(name="tiny", name_or_path=str(folder), trust_remote_code=True)
    loaded = checkpoint.pretrained(model, None, str(tmp_path / "cache"))
    assert marker.exists(), "the tests above would find code that is run"
    assert predicting.origin(loaded)["remote_code"] is True
    plain = checkpoint.pretrained(
        ModelConfig(name="tiny", name_or_path=str(encoder(tmp_path / "plain")), trust_remote_code=True),
        None,
        str(tmp_path / "cache"),
    )
    assert "remote_code" not in predicting.origin(plain)


def test_code_that_transformers_can_do_without_is_named(
    tmp_path: Path, marker: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = encoder(tmp_path / "model")
    infect(folder, marker, "config.json", auto_map={"AutoConfig": "code.Config"} | NETWORKS)
    checkpoint.pretrained(ModelConfig(name="tiny", name_or_path=str(folder)), None, str(tmp_path / "cache"))
    assert not marker.exists()
    assert (
        f"{folder} comes with its own code, which was not run: BertModel is transformers' class"
        in caplog.messages
    )


@pytest.mark.parametrize("said", ["TokenizersBackend", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("family", ["qwen2", "qwen3_5", "llama", "gpt2", "bert", "t5"])
def test_a_tokenizer_json_that_is_the_whole_tokenizer_is_believed(
    family: str, said: str, tmp_path: Path
) -> None:
    tokenizer = tiny.train_tokenizer(TEXTS, 80)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": said}))
    again = opening.read_tokenizer(str(tmp_path))
    assert [again(text).input_ids for text in TEXTS] == [tokenizer(text).input_ids for text in TEXTS]
    assert again.special_tokens_map == tokenizer.special_tokens_map


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "t5", "mpnet", "xlm-roberta"])
def test_a_folder_without_a_tokenizer_is_refused(kind: str, tmp_path: Path) -> None:
    """transformers makes a tokenizer without words, to which every text is the same."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(FiglangError, match="its tokenizer has no vocabulary") as raised:
        opening.read_tokenizer(str(tmp_path))
    assert str(tmp_path) in str(raised.value)
