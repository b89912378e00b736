"""Every preset composes, and every different model preset trains with debug=fast."""

import json
import re
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluate import main as evaluate_command
from figlang.commands.reproduce import main as reproduce_command
from figlang.config import (
    EvaluateConfig,
    GenerateConfig,
    TrainConfig,
)
from figlang.config.composing import compose
from figlang.config.presets import CONF
from tests.published import results
from tests.reproducing import OPTIONS
from tests.sampled import sampled
from train import main as train_command

# Presets that leave something to the user, and what they are given here.
GIVEN = {
    "encoder": ["model.name_or_path=x"],
    "causal": ["model.name_or_path=x", "model.bos=add"],
    "qlora": ["model=gpt2"],
    "served": ["model.name=x", "model.endpoint=http://localhost:8000"],
}
# conf/sweep holds W&B's files, see test_search.py.
GROUPS = sorted(
    (folder.name, file.stem)
    for folder in CONF.iterdir()
    if folder.is_dir() and folder.name != "sweep"
    for file in folder.glob("*.yaml")
)
MODELS = [name for group, name in GROUPS if group == "model"]
TRAINED = [name for name in MODELS if name != "served"]  # its weights are elsewhere
ADAPTED = ["roberta_lora", "gpt2_lora"]
# Weights in bf16 are trained with adapters only.
ROUNDED = [name for name in MODELS if "dtype: bfloat16" in (CONF / "model" / f"{name}.yaml").read_text()]
CAUSAL = [
    name
    for name in MODELS
    if "family: causal" in (CONF / "model" / f"{name}.yaml").read_text() and name not in ADAPTED
]
HEADS = {
    name: (CONF / "experiment" / f"{name}.yaml").read_text()
    for group, name in GROUPS
    if group == "experiment"
}


# The commands that presets are for, by how the head of a preset calls them.
COMMANDS: dict[str, tuple[str, Any, Callable[[], None]]] = {
    "figlang train": ("train", TrainConfig, train_command),
    "figlang evaluate": ("evaluate", EvaluateConfig, evaluate_command),
    **{
        f"figlang reproduce table={name}": ("reproduce", options, reproduce_command)
        for name, options in OPTIONS.items()
    },
}


def command_of(name: str) -> str:
    return re.findall(rf"`(?:python )?(.+) experiment={name}`", HEADS[name])[0]


def table_of(name: str) -> list[str]:
    return re.findall(r"table=\w+", command_of(name))


@pytest.mark.parametrize(("group", "name"), GROUPS)
def test_every_preset_composes_and_says_what_it_is(group: str, name: str) -> None:
    if group in ("scoring", "prompt", "protocol"):
        assert getattr(compose("evaluate", EvaluateConfig, [f"{group}={name}"]), group).name == name
    elif group == "sampling":
        assert compose("generate", GenerateConfig, [f"{group}={name}"]).sampling.name == name
    elif group == "experiment":
        command, schema, _ = COMMANDS[command_of(name)]
        assert compose(command, schema, [*table_of(name), f"{group}={name}"]).seed == 0
    else:
        assert compose("train", TrainConfig, [f"{group}={name}", *GIVEN.get(name, [])]).method.epochs > 0
    first = next(
        line for line in (CONF / group / f"{name}.yaml").read_text().splitlines() if "@package" not in line
    )
    assert first.startswith("# ")


FAMILIES = (
    *("qwen3_", "llama", "gemma", "smollm3", "olmo"),
    *("modernbert", "deberta", "mdeberta", "xlm", "mmbert"),
)
LARGER = [name for name in MODELS if name.startswith(FAMILIES)]
# The arithmetic of docs/guides/big-models.md: GB for a billion weights, what the rest takes, and cards.
BYTES = {"float32": 4.0, "bfloat16": 2.0}
TRAINED_BYTES, FOUR_BITS, REST = 16.0, 0.55, 3.0
CARDS = (4, 6, 8, 12, 16, 24, 32, 40, 48, 80)


def text_of(name: str) -> str:
    return (CONF / "model" / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LARGER)
def test_a_preset_of_a_larger_model_says_which_card_it_needs(name: str) -> None:
    text = text_of(name)
    lines = re.findall(
        r"^# Card, by arithmetic for ([\d.]+) billion weights(?:, ([\d.]+) of .*?)?: (.+)$", text, re.M
    )
    ((weights, embeddings, said),) = lines
    held = float(weights) * BYTES[re.findall(r"^  dtype: (\w+)$", text, re.M)[0]]
    four_bits = 2 * float(embeddings or 0) + FOUR_BITS * (float(weights) - float(embeddings or 0))
    needed = {
        "evaluation": held,
        "all weights trained": TRAINED_BYTES * float(weights),
        "peft=lora": held,
        "peft=qlora": four_bits,
    }
    uses = [re.fullmatch(r"(.+) (\d+) GB(?: \(or a CPU\))?", each) for each in said.split(", ")]
    assert {use[1]: int(use[2]) for use in uses if use} == {
        use[1]: next(card for card in CARDS if card >= needed[use[1]] + REST) for use in uses if use
    }
    assert uses
    assert all(uses)


@pytest.mark.parametrize("name", LARGER)
def test_a_preset_of_a_larger_model_says_its_precision_bos_and_learning_rate(name: str) -> None:
    text, config = text_of(name), compose("train", TrainConfig, [f"model={name}"])
    assert f"\n  dtype: {config.model.dtype}\n" in text
    assert config.model.family != "causal" or re.findall(r'^  bos: "?(\w+)"?$', text, re.M) == [
        config.model.bos
    ]
    by_lm = re.findall(r"^# Learning rate: (\S+), with method=lm (\S+)\. ", text, re.M)
    if by_lm:  # the line is about the methods' own rates
        lm = compose("train", TrainConfig, [f"model={name}", "method=lm"])
        assert tuple(map(float, by_lm[0])) == (config.method.lr, lm.method.lr)
    else:
        assert [float(each) for each in re.findall(r"^  lr: (\S+)$", text, re.M)] == [config.method.lr]


@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_model_has_a_token_before_every_string(name: str) -> None:
    config = compose("evaluate", EvaluateConfig, [f"model={name}", "scoring=pmi", *GIVEN.get(name, [])])
    assert config.model.bos != "none", "the answer alone needs a token before it"


@pytest.mark.parametrize("name", ADAPTED)
def test_a_preset_with_adapters_is_for_training(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = compose(
        "train", TrainConfig, [f"model={name}", "peft=dora", "peft.target_modules=[query,value]"]
    )
    assert (config.model.name, config.peft.name, config.peft.target_modules) == (
        name,
        "dora",
        ["query", "value"],
    )
    assert compose("train", TrainConfig, [f"model={name}"]).peft.name == "lora"
    monkeypatch.setattr(sys, "argv", ["evaluate.py", f"model={name}"])
    with pytest.raises(SystemExit):
        evaluate_command()
    assert capsys.readouterr().err.startswith(
        "error: this model= trains adapters; name the network below them"
    )


def test_the_published_lm_recipe_is_the_specified_one() -> None:
    # Liu et al. 2022, §4.1, and their scripts: batch 8, no warm-up, no weight decay, clip 1.0, early stopping
    # with patience 1
    method = compose("train", TrainConfig, ["model=gpt2", "method=lm"]).method
    assert (method.batch_size, method.warmup, method.weight_decay, method.clip, method.patience) == (
        8,
        0.0,
        0.0,
        1.0,
        1,
    )
    assert method.selection == "heldout"


def test_evaluate_composes() -> None:
    assert (
        compose("evaluate", EvaluateConfig, ["checkpoint=x", "data=figqa_large", "split=test"]).data.size
        == "large"
    )


def test_the_published_recipes_are_the_specified_ones() -> None:
    # Liu et al. 2022, §4.2, and their scripts: 8 epochs, batch 8, warm-up 10 %, clip 1.0, length 80; BERT
    # 2e-5, RoBERTa 5e-6
    for name, lr in (("bert", 2e-5), ("roberta", 5e-6)):
        config = compose("train", TrainConfig, [f"model={name}", "data=figqa_medium"])
        method = config.method
        assert (
            method.lr,
            method.epochs,
            method.batch_size,
            method.warmup,
            method.clip,
            method.weight_decay,
        ) == (
            lr,
            8,
            8,
            0.1,
            1.0,
            0.0,
        )
        assert (method.format, config.model.max_length) == ("pair", 80)


def said_to_a_tiny_network(name: str) -> str:
    """A preset without its weights and its learning rate."""
    said = yaml.safe_load(text_of(name))
    for group, left_out in (("model", ("name", "name_or_path")), ("method", ("lr",))):
        said[group] = {key: value for key, value in said.get(group, {}).items() if key not in left_out}
    return json.dumps(said, sort_keys=True)


# Experiments of which each has another command, task or way of training.
COMMON = (
    *("figqa_tuned_bert_medium", "figqa_zero_shot_gpt2", "miqa_table3_deberta", "munch_table3_llama"),
    *("release_minilm_distilled", "release_smollm2_pmi", "winogrande_bert"),
)
# With debug=fast, presets that differ in nothing else are the same training.
DIFFERENT = list({said_to_a_tiny_network(name): name for name in reversed(TRAINED)}.values())
MIXED = sampled(
    [
        "method.format=joint",
        "model=bert method.max_tokens=200",
        "model=roberta peft=lora",
        "model=minilm peft=lora",
        "model=minilm method.selection=heldout",
        "model=smollm2 peft=lora method.direction=both peft.target_modules=auto",
        "model=smollm2 peft=dora peft.merge=true",
        "model=minilm peft=rslora method.format=pair peft.merge=true",
        "method=nli data=snli peft=lora",
        "model=gpt2 method=lm",
        "model=gpt_neo method=lm method.text=legacy method.selection=validation",
        "model=llama scoring=pmi method.max_tokens=200",
    ],
    "method.format=joint",
    "model=minilm method.selection=heldout",
    "model=smollm2 peft=lora method.direction=both peft.target_modules=auto",
    "model=minilm peft=rslora method.format=pair peft.merge=true",
    "method=nli data=snli peft=lora",
    "model=gpt_neo method=lm method.text=legacy method.selection=validation",
)


@pytest.mark.parametrize(
    "overrides",
    [
        *sampled(
            " ".join([f"model={name}", *GIVEN.get(name, []), *(["peft=lora"] if name in ROUNDED else [])])
            for name in DIFFERENT
        ),
        *MIXED,
    ],
)
def test_debug_fast_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], overrides: list[str]
) -> None:
    fixed = ["debug=fast", "trainer=cpu", "trainer.progress=false", f"run={tmp_path}/run"]
    monkeypatch.setattr(sys, "argv", ["train.py", *fixed, *overrides.split()])
    train_command()
    assert (tmp_path / "run" / "metrics.json").is_file()
    assert "accuracy" in capsys.readouterr().out


# Published results


@pytest.mark.parametrize("name", HEADS)
def test_the_head_of_an_experiment_says_what_to_expect(name: str) -> None:
    head = [line for line in HEADS[name].splitlines() if line.startswith("# ")]
    assert f"experiment={name}`" in head[1]
    assert head[2].startswith("# Published: ")
    assert any(line.startswith("# Expects: ") and "Measured: " in line for line in head)
    # What is not measured says why.
    measured = " ".join(line.removeprefix("#").strip() for line in head).partition("Measured: ")[2]
    assert not measured.startswith("not yet") or measured.startswith("not yet, since ")


@pytest.mark.parametrize("name", HEADS)
def test_the_published_values_of_a_head_are_in_the_reference_file(name: str) -> None:
    said = HEADS[name].split("# Published: ")[1].splitlines()[0]
    if said.startswith(("no counterpart", "a figure")):
        return
    benchmark = {"miqa": "MiQA", "munch": "MUNCH"}.get(name.partition("_")[0], "Fig-QA")
    _, *parts = re.split(r"(Table \d+|Footnote 4)", said)
    for table, values in zip(parts[::2], parts[1::2], strict=True):
        known = {row.value for row in results() if (row.table, row.benchmark) == (table, benchmark)}
        stated = {float(value) for value in re.findall(r"\d+\.\d+(?!\d*B)", values)}  # GPT-neo 1.3B is a name
        assert stated
        assert stated <= known


def test_every_experiment_is_in_the_table_of_commands() -> None:
    table = (CONF / "experiment" / "README.md").read_text()
    for name in HEADS:
        assert f"{command_of(name)} experiment={name}`" in table


@pytest.mark.parametrize("name", sampled(HEADS, *COMMON))
def test_every_experiment_runs_whole_on_the_bundled_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    swept = re.findall(
        r"^      [\w.]+: (.+)$", HEADS[name].partition("mode: MULTIRUN")[2], flags=re.MULTILINE
    )
    words = [
        *table_of(name),
        f"experiment={name}",
        "debug=fast",
        "trainer=cpu",
        "trainer.progress=false",
        f"paths.runs={tmp_path}",
    ]
    if swept == ["0,1,2,3,4"]:  # two of the five seeds are as good a sweep, and twice as fast
        swept = ["0,1"]
        words.append("hydra.sweeper.params.seed='0,1'")
    monkeypatch.setattr(sys, "argv", ["x.py", *words])
    command, schema, run = COMMANDS[command_of(name)]
    run()
    also = getattr(compose(command, schema, [*table_of(name), f"experiment={name}"]), "also", [])
    assert len(list(tmp_path.rglob("metrics.json"))) == prod(len(values.split(",")) for values in swept) * (
        1 + len(also)
    )
    assert capsys.readouterr().out
