"""Short names: `model=ORG/NAME`, `model=FOLDER`, `model=FILE.gguf`, `data=FILE.csv`, `split=dev`."""

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from figlang.config import EvaluateConfig, PathsConfig, TrainConfig, calling, lists
from figlang.config.kinds import Kind, kind_of
from figlang.config.presets import CONF
from figlang.config.roots import ROOTS
from figlang.config.shorthand import expanded, of_data
from figlang.errors import FiglangError
from figlang.tasks import registry
from figlang.types import Split
from tests.running import run, train

HEADER = "startphrase,ending1,ending2,labels\n"
PAIR = "Her voice was velvet,It was soft,It was rough,0\nHer voice was gravel,It was soft,It was rough,1\n"


def words(verb: str, *given: str) -> list[str]:
    return expanded(ROOTS[verb], given, CONF)


def model(folder: Path, **config: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (["LlamaForCausalLM"], Kind.CAUSAL),
        (["GPT2LMHeadModel"], Kind.CAUSAL),
        (["RobertaForSequenceClassification"], Kind.NLI),
        (["RobertaForMaskedLM"], Kind.ENCODER),
        (["BertLMHeadModel"], Kind.ENCODER),
        (None, Kind.ENCODER),
    ],
)
def test_the_kind_is_in_config_json(tmp_path: Path, classes: list[str] | None, kind: Kind) -> None:
    assert kind_of(str(model(tmp_path / "m", architectures=classes))) is kind
    # An exported run has its network in the folder model.
    model(tmp_path / "run" / "model", architectures=classes)
    assert kind_of(str(tmp_path / "run")) is kind


def test_sentence_encoders_and_adapters(tmp_path: Path) -> None:
    folder = model(tmp_path / "sentences", architectures=["MPNetForMaskedLM"])
    (folder / "modules.json").write_text("[]")
    assert kind_of(str(folder)) is Kind.SENTENCES
    adapters = tmp_path / "adapters"
    adapters.mkdir()
    (adapters / "adapter_config.json").write_text('{"task_type": "CAUSAL_LM"}')
    assert kind_of(str(adapters)) is Kind.CAUSAL


def test_a_hub_id_is_read_from_the_hub_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    kept = tmp_path / "models--org--name"
    model(kept / "snapshots" / "abc", architectures=["LlamaForCausalLM"])
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc")
    assert kind_of("org/name") is Kind.CAUSAL
    with pytest.raises(FiglangError, match=r"model=org/other: there is no config\.json of it on the hub"):
        kind_of("org/other")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no config.json in it"),
        ("{", "its config.json cannot be"),
        ("[]", "is not a JSON obj"),
    ],
)
def test_a_folder_that_is_not_a_model(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(FiglangError, match=message):
        kind_of(str(tmp_path))


def test_names_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model(Path("my model, big"), architectures=["GPT2LMHeadModel"])
    assert words("evaluate", "model=my model, big") == ["model=causal", "model.name_or_path='my model, big'"]
    Path("x.gguf").touch()
    assert words("train", "model=x.gguf") == ["model=causal", "model.name_or_path=x.gguf"]
    # The preset of a hub id knows its token before a text.
    assert words("evaluate", "model=EleutherAI/pythia-160m") == ["model=pythia"]
    for plain in ("model=roberta", "model=roberta,gpt2", "model=nosuch", "model="):
        assert words("evaluate", plain) == [plain]
    assert words("compare", "model=a/b", "split=dev") == ["model=a/b", "split=dev"]


def test_a_sentence_encoder_is_trained_as_one(tmp_path: Path) -> None:
    folder = model(tmp_path / "s")
    (folder / "modules.json").write_text("[]")
    own = ["model=encoder", f"model.name_or_path={folder}"]
    assert words("train", f"model={folder}") == [*own, "method.format=dual"]
    asked = [f"model={folder}", "method.format=pair"]
    assert words("train", *asked) == [*own, "method.format=pair"]
    assert words("evaluate", f"model={folder}") == own


@pytest.mark.parametrize(
    ("verb", "given", "expected"),
    [
        ("average", "shares=0.5, 0.5", "shares=[0.5,0.5]"),
        ("average", "shares=1", "shares=[1]"),
        ("average", "shares=[0.5,0.5]", "shares=[0.5,0.5]"),
        ("combine", "weights=2,1", "weights=[2,1]"),
        ("combine", "fit=runs/a,b c", "fit=[runs/a,'b c']"),
        ("release", "seeds=runs/0,runs/1", "seeds=[runs/0,runs/1]"),
        ("compare", "runs=0,1", "runs=['0','1']"),
        ("compare", "runs= a, b c ,", "runs=[a,'b c']"),
        ("compare", "runs='a,b','c d', \"e\"", "runs=['a,b','c d',e]"),
        ("compare", "runs='it's'", r"runs=['it\'s']"),
        ("compare", "runs=run(1)/a,b", "runs=['run(1)/a',b]"),
        ("train", "also=miqa", "also=[miqa]"),
        ("train", "data.columns.attributes=form,about", "data.columns.attributes=[form,about]"),
        ("evaluate", "nli.labels=entailment,neutral", "nli.labels=[entailment,neutral]"),
        ("evaluate", "nli.labels=null", "nli.labels=null"),
        ("evaluate", "protocol.think_tags=<a>,</a>", "protocol.think_tags=['<a>','</a>']"),
        ("train", "also=${x}", "also=${x}"),
        ("compare", "rename=a=b, c", "rename=a=b, c"),
        ("train", "seed=0,1", "seed=0,1"),
    ],
)
def test_a_list_needs_no_brackets(verb: str, given: str, expected: str) -> None:
    assert words(verb, given) == [expected]


def test_every_option_that_holds_a_list_is_known() -> None:
    """Only the types of the schema say it, which a new form of annotation might hide."""
    for verb, root in ROOTS.items():
        names = {name for name in lists.of(root.schema) if "." not in name}
        made = {spec.name for spec in fields(root.schema) if isinstance(blank(spec), list | tuple)}
        assert made <= names, verb
    assert lists.of(TrainConfig)["also"] is str
    assert lists.of(ROOTS["average"].schema)["shares"] is float


def blank(spec: Any) -> object:
    """The default of a field."""
    return spec.default_factory() if spec.default_factory is not MISSING else spec.default


def test_in_a_multirun_each_entry_is_a_list_of_its_own() -> None:
    assert words("train", "-m", "also=miqa,munch") == ["-m", "also=[miqa],[munch]"]
    assert words("train", "-m", "also=[a,b],[c]") == ["-m", "also=[a,b],[c]"]
    assert words("transfer", "data.columns.attributes=a,b") == ["data.columns.attributes=[a],[b]"]
    whole = "nli.labels=[entailment,neutral]"
    assert words("transfer", "nli.labels=entailment,neutral") == [whole], "one class is not an order"
    assert words("evaluate", "-m", "nli.labels=entailment,neutral") == ["-m", whole]
    assert words("transfer", "nli.labels=[a,b],[b,a]") == ["nli.labels=[a,b],[b,a]"]
    assert words("train", "logger=csv,wandb") == ["logger=csv", "logger.also=[wandb]"]
    assert words("train", "-m", "logger=csv,wandb") == ["-m", "logger=csv,wandb"]


def test_a_file_that_is_not_a_table_is_not_called_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.docx").write_bytes(b"PK")
    with pytest.raises(FiglangError, match=r"^data=items.docx is not a table that .* ends with \.csv, \.tsv"):
        words("evaluate", "data=items.docx")
    assert words("evaluate", "data=figqa_sample") == ["data=figqa_sample"]


@pytest.mark.parametrize("word", ["model=a/b,c/d", "data=a.csv,miqa"])
def test_several_values_are_presets(word: str) -> None:
    with pytest.raises(FiglangError, match="several values have to be presets"):
        words("evaluate", word)


def test_a_table_of_transfer_has_files_beside_presets() -> None:
    assert words("transfer", "data=miqa,my items.csv") == ["data=miqa,'my items.csv'"]
    assert of_data("data=my items.csv", []) == ["data=figqa_csv", "data.file='my items.csv'"]
    assert of_data("data=miqa", []) == ["data=miqa"]
    assert of_data("checkpoint=a", []) == ["checkpoint=a"]


def test_model_encoder_takes_a_sentence_encoder_as_one_and_hints_for_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    folder = model(tmp_path / "sentences", architectures=["BertModel"])
    (folder / "modules.json").write_text("[]")
    given = ["model=encoder", f"model.name_or_path={folder}"]
    assert words("train", *given) == [*given, "method.format=dual"]
    assert f"{folder} is a sentence encoder: method.format=dual is used" in caplog.text
    for own in ("method.format=pair", "method=nli", "experiment=x"):
        assert words("train", *given, own) == [*given, own], "what is typed counts"
    assert words("evaluate", *given) == given, "only a training has a format"
    assert "may do better" not in caplog.text
    plain = model(tmp_path / "plain", architectures=["BertForMaskedLM"])
    for form in (["model=encoder", f"model.name_or_path={plain}"], [f"model={plain}"]):
        caplog.clear()
        assert "method.format=dual" not in words("train", *form)
        assert "a sentence encoder with method.format=dual may do better" in caplog.text


def test_a_tool_that_export_does_not_know_is_answered_with_those_that_it_knows() -> None:
    with pytest.raises(FiglangError, match=r"^foo is not a tool .*; write lm_eval or inspect, and a folder"):
        words("export", "foo")
    assert words("export", "inspect", "out") == ["tool=inspect", "output=out"]


def test_dev_is_the_validation_split() -> None:
    assert words("evaluate", "split=dev") == ["split=validation"]
    assert words("transfer", "split=dev,test") == ["split=validation,test"]
    assert calling.options("evaluate", EvaluateConfig, ["split=dev"]).split == "validation"


def composed(*given: str) -> EvaluateConfig:
    return calling.options("evaluate", EvaluateConfig, list(given))


def test_names_of_files_are_readable_safe_and_told_apart() -> None:
    one, other = composed("data=a/my file (2).csv"), composed("data=b/my file (2).csv")
    assert (one.data.dataset, one.data.file, one.data.name) == ("figqa_csv", "a/my file (2).csv", "my-file-2")
    assert other.data.name == one.data.name
    assert one.name is not None
    assert one.name.startswith("my-file-2-validation-")
    assert one.name != other.name
    assert composed("data=../../x;rm.tsv").data.name == "x-rm"
    assert composed("data=a.csv", "data.name=mine").data.name == "mine"


def test_a_table_that_cannot_be_read_is_not_called_one_of_figqa(tmp_path: Path) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("context,option,option,gold\nTime is money,precious,cheap,0\n")
    data = composed(f"data={file}").data
    assert data.dataset == "own"
    with pytest.raises(FiglangError, match="column 'option' occurs twice"):
        registry.load("validation", data, PathsConfig())


def items_of(folder: Path, file: str) -> Split:
    config = composed(f"data={folder / file}")
    return registry.load("validation", config.data, config.paths)


def test_the_same_items_from_three_forms_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + PAIR)
    (tmp_path / "b.tsv").write_text((HEADER + PAIR).replace(",", "\t"))
    names = HEADER.strip().split(",")
    objects = [dict(zip(names, row.split(","), strict=True)) for row in PAIR.splitlines()]
    lines = [json.dumps({**each, "labels": int(each["labels"])}) + "\n" for each in objects]
    (tmp_path / "c.jsonl").write_text("".join(lines) + '{"startphrase": "x"}\n')
    read = [items_of(tmp_path, file) for file in ("a.csv", "b.tsv", "c.jsonl")]
    plain = [[(item.context, item.options, item.gold) for item in split.items] for split in read]
    assert plain[0] == plain[1] == plain[2]
    assert len(plain[0]) == 2
    assert any("c.jsonl row 3: no ending1, ending2, labels, row left out" in note for note in read[2].notes)


def test_a_training_on_a_file_needs_another_one_to_validate_on(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(HEADER + PAIR)
    ended = train(tmp_path, f"data={tmp_path}/mine.csv")
    assert ended.returncode == 2
    assert "give data.validation=FILE too, with other items" in ended.stderr


def test_an_evaluation_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(HEADER + PAIR)
    ended = run(tmp_path, "evaluate.py", "data=mine.csv", "split=dev", "blind=false")
    assert ended.returncode == 0, ended.stderr
    (made,) = (tmp_path / "runs" / "evaluations" / "minilm").iterdir()
    assert made.name.startswith("mine-validation-")
    assert json.loads((made / "metrics.json").read_text())["metrics"]["accuracy"]["n"] == 2


def test_a_folder_of_datasets_is_data(tmp_path: Path) -> None:
    """A folder that `datasets` saved was refused with the names of all presets."""
    from datasets import Dataset, DatasetDict

    rows = [{"satz": "Er hat Tomaten auf den Augen", "choices": ["blind", "wach"], "label": 0}]
    saved = tmp_path / "saved"
    DatasetDict({"train": Dataset.from_list(rows * 2), "test": Dataset.from_list(rows)}).save_to_disk(saved)
    assert words("evaluate", f"data={saved}") == ["data=own", f"data.hub={saved}"]
    assert words("describe", str(saved)) == ["data=own", f"data.hub={saved}"]
    assert words("evaluate", "data=saved") == ["data=saved"], "a name without a slash is a preset's"
    config = calling.options("evaluate", EvaluateConfig, [f"data={saved}", "split=test"])
    (item,) = registry.load("test", config.data, config.paths).items
    assert item.options == ("blind", "wach")


def test_a_spreadsheet_is_to_be_saved_as_csv() -> None:
    with pytest.raises(FiglangError, match=r"data=mine/items\.xlsx is a spreadsheet; save it as a CSV file"):
        words("evaluate", "data=mine/items.xlsx")
    with pytest.raises(FiglangError, match="is a spreadsheet"):
        words("describe", "items.ods")


def test_several_folders_of_teachers_need_no_brackets() -> None:
    assert words("train", "method.teacher=runs/a") == ["method.teacher=[runs/a]"]
    assert words("train", "method.teacher=runs/a,b") == ["method.teacher=[runs/a,b]"]
    assert words("train", "method.teacher=[runs/a]") == ["method.teacher=[runs/a]"]
    assert words("train", "-m", "method.teacher=a,b") == ["-m", "method.teacher=[a],[b]"], "one each"


def test_a_batch_that_is_cut_by_itself_takes_no_number_of_parts() -> None:
    assert words("train", "method.batch_size=auto") == ["method.accumulate=auto"]
    assert words("train", "method.batch_size=auto", "method.accumulate=auto")[0] == "method.accumulate=auto"
    assert words("train", "method.batch_size=8", "method.accumulate=4")[1] == "method.accumulate=4"
    for given in (
        ["method.batch_size=auto", "method.accumulate=4"],
        ["method.accumulate=4", "method.batch_size=auto"],
    ):
        with pytest.raises(FiglangError, match=r"method.accumulate=4 says how many; leave one out"):
            words("train", *given)


def test_a_mixture_takes_parts_that_its_preset_does_not_have(tmp_path: Path) -> None:
    assert words("train", "data.mix.impli=1", "data.mixed=1") == ["++data.mix.impli=1", "data.mixed=1"]
    assert words("train", "+data.mix.impli=1") == ["+data.mix.impli=1"]
    for given in ("data.mix.imp=1", "data.mix={imp: 1}"):
        result = train(tmp_path, "data=multitask", given)
        assert result.returncode == 2
        assert "data.mix has no part 'imp'; choose some of figqa, impli" in result.stderr


def test_a_file_whose_columns_are_named_is_not_read_by_those_of_fig_qa(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(HEADER + PAIR)
    assert words("evaluate", f"data={file}")[0] == "data=figqa_csv"
    named = "data.columns.gold=correct"
    assert words("evaluate", f"data={file}", named)[0] == "data=own"
    assert words("evaluate", f"data.file={file}", named)[0] == "data=own"
