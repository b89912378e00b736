"""Models from Python: their numbers are those of the commands, and the caller's program is left as it was."""

import json
import os
import subprocess
import sys
from math import exp, fsum
from pathlib import Path
from typing import Any

import pytest

import figlang
from figlang.api import models
from figlang.errors import FiglangError
from figlang.runs import answered
from figlang.runs.predictions import read_measured
from tests import causal_models
from tests.running import ROOT, run, train
from tests.stub_server import MODEL, Stub, serving

OWN = [{"context": "a", "options": ["b", "c"]}]
FOUR = ["Era suave.", "Era áspera.", "Era alta.", "Era triste."]
# A model, its options, the data, the scoring, and further words.
CASES: dict[str, tuple[str, dict[str, Any], str, str | None, tuple[str, ...]]] = {
    "encoder": ("minilm", {"init": "tiny"}, "figqa_sample", None, ()),
    "classifier": ("nli_roberta", {"init": "tiny"}, "figqa_sample", "nli", ("nli.score=entail",)),
    "masked": ("bert", {"init": "tiny"}, "figqa_sample", "pll", ()),
    "causal": ("smollm2", {"init": "tiny"}, "figqa_sample", "pmi", ("prompt=k3",)),
    "question": ("smollm2", {"init": "tiny"}, "miqa_sample", "answer", ("prompt=miqa_qa",)),
    "letters": ("smollm2", {"init": "tiny"}, "munch_word", None, ("prompt=munch",)),
    "pretrained": ("minilm", {}, "figqa_sample", None, ()),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_the_command_to_the_last_bit(case: str, tmp_path: Path) -> None:
    name, options, data, scoring, words = CASES[case]
    root = "package:figlang/samples"
    items = figlang.load(data, split="dev", limit=6, root=root)
    found = figlang.open_model(name, **options).predict(items, *words, scoring=scoring)
    asked = [
        *(f"model={name}", f"data={data}", "data.limit=6", f"data.root={root}", "output=out", *words),
        *(f"model.{key}={value}" for key, value in options.items()),
        *([] if scoring is None else [f"scoring={scoring}"]),
    ]
    ended = run(tmp_path, "evaluate.py", "trainer.progress=false", *asked)
    assert ended.returncode == 0, ended.stderr
    written, content = (
        answered.read(tmp_path / "out"),
        json.loads((tmp_path / "out/metrics.json").read_text()),
    )
    assert list(found.answered.forward) == written.forward
    for kind in ("blind", "backward", "judged", "replies"):
        ours, theirs = getattr(found.answered, kind), getattr(written, kind)
        assert (ours is None) == (theirs is None), kind
        assert list(ours or ()) == list(theirs or ()), kind
    if found.answered.measured is not None:
        widths = {row.id: len(row.scores) for row in found}
        kept = read_measured(tmp_path / "out" / "log_probabilities.jsonl", widths)
        rows = [dict(row.items()) for row in found.answered.measured]
        assert json.loads(json.dumps(rows)) == json.loads(json.dumps(kept))
    ours = json.loads(json.dumps(found.document))
    differing = {key for key in content if ours.get(key) != content[key]}
    assert differing <= {"command", "files"}
    assert figlang.measure(found).to_dict() == figlang.measure(tmp_path / "out").to_dict()


def test_one_network_serves_every_scoring() -> None:
    items = figlang.load("figqa_sample", limit=4)
    model = figlang.open_model("smollm2", init="tiny")
    together = {name: model.predict(items, scoring=name) for name in ("pmi", "liu2022", None)}
    assert len({id(each.network) for each in model._opened.values()}) == 1  # type: ignore[union-attr]
    for scoring, found in together.items():
        alone = figlang.open_model("smollm2", init="tiny").predict(items, scoring=scoring)
        assert list(alone) == list(found)
        assert alone.signature == found.signature
    encoder = figlang.open_model("minilm", init="tiny")
    chosen, likely = encoder.predict(items), encoder.predict(items, scoring="pll")
    assert list(chosen) != list(likely)
    assert list(chosen) == list(encoder.predict(items))


@pytest.mark.parametrize(
    ("preset", "scoring"), [("minilm", None), ("smollm2", None), ("roberta", "pll"), ("nli_roberta", "nli")]
)
def test_a_tiny_random_network_does_not_have_the_name_of_the_model(preset: str, scoring: str | None) -> None:
    model = figlang.open_model(preset, init="tiny")
    found = model.predict(figlang.load("figqa_sample", limit=2), scoring=scoring)
    assert model.name.endswith("-tiny")
    assert f"|model:{model.name}|" in str(found.signature)
    assert found.document["model"] == model.name
    assert figlang.open_model(preset, init="tiny", name="mine").name == "mine"


def test_nothing_is_printed_or_written_and_the_caller_draws_what_it_would_have_drawn(tmp_path: Path) -> None:
    code = (
        "import random, numpy, torch, logging, warnings, figlang\n"
        "figlang.open_model('minilm').predict(figlang.load('figqa_sample', limit=1))  # imports\n"
        "assert logging.getLogger('bitsandbytes').level == logging.NOTSET\n"
        "random.seed(5); numpy.random.seed(5); torch.manual_seed(5)\n"
        "from figlang.machine.loggers import LIBRARIES\n"
        "levels = lambda: [logging.getLogger(name).level for name in LIBRARIES]\n"
        "filters, before = list(warnings.filters), levels()\nitems = figlang.load('figqa_sample', limit=4)\n"
        "model = figlang.open_model('minilm')\na = model.predict(items); model.score('a b', ['c', 'd'])\n"
        "figlang.compare(a, figlang.open_model('minilm', init='tiny').predict(items)); figlang.measure(a)\n"
        "assert warnings.filters == filters and levels() == before\n"
        "drawn = random.random(), numpy.random.rand(), torch.rand(1).item()\n"
        "figlang.open_model('minilm').predict(figlang.load('figqa_sample', limit=1))  # imports\n"
        "random.seed(5); numpy.random.seed(5); torch.manual_seed(5)\n"
        "assert drawn == (random.random(), numpy.random.rand(), torch.rand(1).item())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_warnings_of_figlang_are_notes_of_the_result(capfd: pytest.CaptureFixture[str]) -> None:
    found = figlang.open_model("minilm", init="tiny").predict(figlang.load("figqa_sample", limit=2))
    assert "the tokenizer of minilm-tiny does not know the script" in found.notes[0]
    assert capfd.readouterr() == ("", "")


def test_a_second_file_does_not_replace_the_predictions_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "startphrase,ending1,ending2,labels\n"
    files = {"a": "Her voice was velvet,It was soft.,It was rough.,0\n", "b": "x,y,z,1\nu,v,w,0\n"}
    for name, rows in files.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.csv").write_text(header + rows)
    model = figlang.open_model("minilm", init="tiny")
    monkeypatch.chdir(tmp_path / "a")
    first = figlang.load("figqa_csv", validation="own.csv")
    one = model.predict(first)
    monkeypatch.chdir(tmp_path / "b")
    two = model.predict(figlang.load("figqa_csv", validation="own.csv"))
    assert (len(one), len(two)) == (1, 2)
    monkeypatch.chdir(tmp_path)
    kept = list(figlang.Predictions.read(one.save("one")))
    two.save("two")
    assert kept == list(figlang.Predictions.read("one")) == list(one)
    with pytest.raises(FiglangError, match="holds a finished result with other settings"):
        two.save("one")
    assert list(figlang.Predictions.read("one")) == list(one)
    two.save("one", overwrite=True)
    assert list(figlang.Predictions.read("one")) == list(two)
    one.save("again")
    one.save("again")  # the same result may be written again


def test_options_in_one_text_are_refused() -> None:
    """Its letters were the options."""
    with pytest.raises(FiglangError, match="options='soft' is one text; give a list of two texts or more"):
        figlang.open_model("minilm", init="tiny").score("Her voice was velvet.", "soft")


def test_one_context_is_scored_as_in_an_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = figlang.load("figqa_sample", limit=3)
    for name, scoring in (("smollm2", "answer"), ("smollm2", "pmi"), ("minilm", None), ("minilm", "pll")):
        model = figlang.open_model(name, init="tiny")
        for row, item in zip(model.predict(items, scoring=scoring), items, strict=True):
            one = model.score(item.context, item.options, scoring=scoring)
            assert one.scores == pytest.approx(row.scores, abs=1e-5)
            assert one.log_probabilities is not None
            if scoring == "answer":  # a sum of log-probabilities is its own score
                assert one.log_probabilities == one.scores
            if scoring is None:
                assert fsum(map(exp, one.log_probabilities)) == pytest.approx(1)
    assert not list(tmp_path.iterdir())
    classifier = figlang.open_model("nli_roberta", init="tiny")
    assert classifier.score("a", ["b", "c"], scoring="nli").log_probabilities is None


def test_own_items_with_four_options_and_examples() -> None:
    rows = [
        {"context": f"Su voz {n}", "options": FOUR, "gold": n % 4, "group": str(n // 2)} for n in range(8)
    ]
    items = figlang.items(rows, name="voz")
    model = figlang.open_model("smollm2", init="tiny")
    found = model.predict(items, scoring="pmi")
    assert {len(row.scores) for row in found} == {4}
    assert "|data:voz@" in f"|{found.signature}"
    accuracy = figlang.measure(found).accuracy
    assert accuracy is not None
    assert (accuracy.n, accuracy.chance) == (8, 0.25)
    with pytest.raises(FiglangError, match=r"items of your own have no training file; give examples=ITEMS"):
        model.predict(items, prompt="k3")
    shown = model.predict(items[:2], prompt="k3", examples=items[2:])
    assert "k=3,source=voz@" in shown.signature


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scoring.nrm=mean"], "scoring.nrm changes a preset"),
        (["prompt=zero"], "prompt=zero is not a preset"),
        (["model.dtype=bfloat16"], "model.dtype= has no effect here; give it to figlang.open_model"),
        (["checkpoint=runs/x"], "checkpoint= has no effect here; give it to figlang.open_model"),
        (["trainer=cpu"], "trainer= has no effect here; give it to figlang.open_model"),
        (["+data.limit=1"], "data.limit= has no effect here; give it to figlang.load"),
        (["paths.data=x"], "paths.data= has no effect here; give it to figlang.load"),
        (["overwrite=true"], "overwrite= has no effect here; give it to predictions.save"),
        (["trainer.progress=true"], "give it to predict as progress=True"),
        ([3], "further options are texts such as"),
        (["scoring=clean"], "take pll if it has a masked-LM head"),
        (["seed=0,1"], "an option has several values"),
        (["nonsense"], "cannot read the argument 'nonsense'"),
    ],
)
def test_wrong_words_are_refused_in_one_line(words: list[Any], said: str) -> None:
    model, items = figlang.open_model("minilm", init="tiny"), figlang.load("figqa_sample", limit=2)
    with pytest.raises(FiglangError) as caught:
        model.predict(items, *words)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(FiglangError, match=r".+"):
        model.score("a", ["b", "c"], *words)


def test_a_model_is_opened_with_words_of_its_own() -> None:
    model = figlang.open_model("minilm", "model.max_length=9", init="tiny")
    items = figlang.load("figqa_sample", limit=2)
    assert "max_length:9|" in model.predict(items, "trainer.threads=1").signature
    with pytest.raises(FiglangError, match=r"data\.limit= has no effect here; give it to figlang\.load"):
        figlang.open_model("minilm", "data.limit=2")


@pytest.mark.parametrize(
    ("given", "said"), [([], "items are wanted, not list"), (figlang.items(OWN)[:0], "has no items here")]
)
def test_no_items_are_refused(given: Any, said: str) -> None:
    with pytest.raises(FiglangError, match=said):
        figlang.open_model("minilm", init="tiny").predict(given)


def test_a_model_behind_an_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    items = figlang.load("figqa_sample", limit=3)
    with serving(Stub()) as stub:
        model = figlang.open_model(stub.url, name=MODEL)
        assert not stub.requests
        found = model.predict(items, scoring="letter")
        assert stub.requests
    assert found.answered.replies
    assert f"|endpoint:{stub.url}|" in found.signature


def test_a_run_and_its_checkpoint_are_opened_by_their_folder(tmp_path: Path) -> None:
    ended = train(tmp_path, "data=figqa_sample", "model=minilm", "run=run")
    assert ended.returncode == 0, ended.stderr
    items = figlang.load("figqa_sample", limit=32)
    for folder in ("run", "run/model"):
        model = figlang.open_model(tmp_path / folder, device="cpu")  # where it was trained
        assert model.name == "minilm-tiny"
        assert list(model.predict(items)) == list(figlang.Predictions.read(tmp_path / "run"))
    with pytest.raises(FiglangError, match="brings its own model"):
        figlang.open_model(tmp_path / "run", dtype="bfloat16")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("minilm", ["model=minilm"]),
        ("roberta-base", ["model=roberta_base"]),
        ("ORG/NAME", ["model=ORG/NAME"]),
        ("http://localhost:8000/v1", ["model=served", "model.endpoint='http://localhost:8000/v1'"]),
        ("checkpoints/minilm-multitask", ["checkpoint=checkpoints/minilm-multitask"]),
    ],
)
def test_a_source_is_named_as_on_the_command_line(
    source: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert models.named(source, {}) == words


def test_a_folder_of_weights_is_opened_by_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    causal_models.network("llama").save_pretrained(tmp_path / "my model")
    causal_models.tokenizer().save_pretrained(tmp_path / "my model")
    monkeypatch.chdir(tmp_path)
    model = figlang.open_model("./my model")
    assert repr(model) == "Model my model, read as causal"
    assert len(model.predict(figlang.load("figqa_sample", limit=2))) == 2
    with pytest.raises(FiglangError, match="there is no such folder"):
        figlang.open_model("./no model")
    with pytest.raises(FiglangError, match="is not a preset"):
        figlang.open_model("minlm")
