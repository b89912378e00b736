"""Secrets are never written or printed, however they are quoted.

Other text stays (figlang/files/redaction.py).
"""

import csv
import html
import io
import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from evaluate import main as evaluate_command
from figlang.config import ModelConfig
from figlang.files.redaction import hide, redacted, redacted_values
from figlang.files.whole import write_lines
from figlang.tables import drawing, writing
from tests.stub_server import MODEL, Stub, serving

pytestmark = pytest.mark.drawn

SECRETS = [
    "tr0ub4dor",
    "a\"b'c\\d-e",
    "pass word&more",
    "p'q'r's't",
    "\\ends\\in\\",
    '"quoted"',
    "naïve-ключ",
    "a_b$c%d#e^f~g",
    "<b>x</b>&y",
]


def forms(secret: str) -> dict[str, str]:
    table = io.StringIO()
    csv.writer(table).writerow([f"x {secret}", 'y"'])
    return {
        "plain": secret,
        "repr": repr(secret),
        "JSON": json.dumps({"x": f'"{secret}"'}),
        "JSON in letters of Unicode": json.dumps(secret, ensure_ascii=False),
        "JSON in JSON": json.dumps(json.dumps(secret)),
        "a shell": shlex.join(["python", f"title={secret}", "x"]),
        "a shell in JSON": json.dumps({"command": shlex.join(["python", f"title={secret}", "x"])}),
        "an address": quote(secret, safe=""),
        "an address with slashes": quote(secret),
        "an address in small letters": quote(secret, safe="").lower()
        if secret.islower()
        else quote(secret, safe=""),
        "a form": quote_plus(secret),
        "HTML": html.escape(secret),
        "HTML in JSON": json.dumps(html.escape(secret)),
        "LaTeX": writing.latex_text(secret),
        "Markdown": writing.markdown_text(secret),
        "CSV": table.getvalue(),
    }


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", list(forms("")))
def test_a_secret_is_found_however_it_is_quoted(
    monkeypatch: pytest.MonkeyPatch, secret: str, form: str
) -> None:
    monkeypatch.setenv("SOME_TOKEN", secret)
    text = f"before {forms(secret)[form]} after"
    found = redacted(text)
    assert "<SOME_TOKEN>" in found
    for other in forms(secret).values():
        assert other not in found
    assert (found.startswith("before "), found.endswith(" after")) == (True, True)
    if "JSON" in form:
        json.loads(found.removeprefix("before ").removesuffix(" after"))


ADDRESSES = {
    "https://ann:S3CRETpw@host/x": "https://<password>@host/x",
    "https:/ann:S3CRETpw@host/x": "https:/<password>@host/x",
    "https://ann:S3CRETpw@x@host": "https://<password>@host",
    "https://ann:S3CRET/pw@host": "https://<password>@host",
    "https://ann:S3CRET'pw@host": "https://<password>@host",
    "https://:S3CRETpw@host": "https://<password>@host",
    "https://S3CRET@host/x": "https://<password>@host/x",
    "https:/S3CRET@host/x": "https:/<password>@host/x",
    "git+https://S3CRET@host/x.git@main": "git+https://<password>@host/x.git@main",
    "https://host/x?token=S3CRET": "https://host/x?token=<secret>",
    "https:/host/x?a=b&api_key=S3CRET&c=d": "https:/host/x?a=b&api_key=<secret>&c=d",
    "https://host/x?access_token=S3CRET#top": "https://host/x?access_token=<secret>#top",
    "https://host/x?X-Amz-Signature=S3CRET&X-Amz-Date=1": "https://host/x?X-Amz-Signature=<secret>&X-Amz-Date=1",
    "https://host/x?a=b&amp;KEY=S3CRET": "https://host/x?a=b&amp;KEY=<secret>",
    "https://host/x#access_token=S3CRET": "https://host/x#access_token=<secret>",
    "https://host/x?accessToken=S3CRET": "https://host/x?accessToken=<secret>",
    "https://ann:S3CRETpw@host/x?token=S3CRET": "https://<password>@host/x?token=<secret>",
    "https://S3CRET@host/x?a=b&key=S3CRET#c": "https://<password>@host/x?a=b&key=<secret>#c",
    "https%3A is none, https://host/x%3Fkey=S3CRET%26a=b": "https%3A is none, https://host/x%3Fkey=<secret>%26a=b",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_keep_all_but_their_secrets(address: str) -> None:
    assert redacted(address) == ADDRESSES[address]
    as_json = json.loads(redacted(json.dumps({"a": address, "b": ["x@y.org", 1]}, separators=(",", ":"))))
    assert as_json == {"a": ADDRESSES[address], "b": ["x@y.org", 1]}
    assert "S3CRET" not in redacted(repr(Path(address)) + shlex.quote(address) + html.escape(address))


@pytest.mark.parametrize(
    "text",
    [
        "http://host:80/y@z, a",
        "ann@host.org and x:y@z",
        "https://host/x?tokenizer=gpt2&keyword=a&monkey=b",
        "file:///tmp/x@y",
        "key=value;token=5",
        "C:/x@y/z",
        "package:figlang/samples@1",
        "https://host/@ann/x",
        '{"a":"http://host:8000","b":"c@d"}',
        "sk-short",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


def test_keys_of_well_known_forms_are_found_anywhere() -> None:
    assert redacted("title=sk-" + "a1" * 12 + ", hf_" + "b2" * 17) == "title=<key>, <key>"


def test_values_that_settings_name_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_ACCESS", "hunter2-hunter2")
    assert redacted("hunter2-hunter2") == "hunter2-hunter2"
    fields: dict[str, Any] = {"family": "served", "name": "x", "name_or_path": "", "key_env": "MY_ACCESS"}
    ModelConfig(**fields, endpoint="https://host/proxy/4f0c2a9be1d34c5d/v1")
    assert (
        redacted("hunter2-hunter2 at https://host/proxy/4f0c2a9be1d34c5d/v1")
        == "<MY_ACCESS> at https://host/proxy/<key>/v1"
    )
    assert (
        redacted("https://host/proxy/4f0c2a9be1d34c5d/v1?sig=S3CRET")
        == "https://host/proxy/<key>/v1?sig=<secret>"
    )
    ModelConfig(**fields, endpoint="https://host/openai/deployments/gpt-4o-mini-2024-07-18/v1")
    assert redacted("deployments/gpt-4o-mini-2024-07-18") == "deployments/gpt-4o-mini-2024-07-18"


def test_lines_and_data_are_without_them(tmp_path: Path) -> None:
    hide("correct-horse", "word")
    write_lines(tmp_path / "x.jsonl", [json.dumps({"reply": "correct-horse"}) + "\n"] * 3)
    assert (tmp_path / "x.jsonl").read_text() == '{"reply": "<word>"}\n' * 3
    assert redacted_values({"correct-horse": ["correct-horse", 1, None]}) == {"<word>": ["<word>", 1, None]}


def test_figures_are_without_them(tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    hide("correct-horse", "word")
    figure, axes = plt.subplots()
    axes.set_title("correct-horse")
    drawing.save(figure, tmp_path / "x", ("svg",))
    plt.close(figure)
    assert axes.get_title() == "<word>"


def test_an_evaluation_leaves_no_key_that_a_server_repeats_or_an_address_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai", reason="needs the extra `served`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_ACCESS", "hunter2-hunter2")
    segment = "4f0c2a9be1d34c5d"
    stub = Stub(
        completes=False,
        key="hunter2-hunter2",
        reply=lambda message: "Your key is hunter2-hunter2. The answer is B.",
    )
    with serving(stub):
        whole = stub.answer
        stub.answer = lambda path, body: whole(path.replace(f"/{segment}", ""), body)  # type: ignore[method-assign]
        address = stub.url.replace("/v1", f"/{segment}/v1")
        served = [
            "model=served",
            f"model.endpoint={address}",
            f"model.name={MODEL}",
            "model.key_env=MY_ACCESS",
            "model.retries=0",
        ]
        rest = [
            "trainer=cpu",
            "trainer.progress=false",
            "paths.cache=cache",
            "data=figqa_sample",
            "data.limit=2",
            "scoring=letter",
        ]
        monkeypatch.setattr("sys.argv", ["evaluate.py", *served, *rest, "output=out"])
        evaluate_command()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"replies.jsonl", "metrics.json"}
    assert any(path.parent.name == "served" for path in files)
    said = "".join(capsys.readouterr())
    for secret in ("hunter2", segment):
        assert secret not in said
        assert not [path for path in files if secret.encode() in path.read_bytes() or secret in str(path)]


@pytest.mark.parametrize(
    "text", ["{ключ-ключ}", "\\textbf{ключ-ключ}", "{\\otherscript{ключ}-\\otherscript{ключ}}"]
)
def test_a_brace_after_a_secret_stays(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SOME_TOKEN", "ключ-ключ")
    assert redacted(text).endswith("{<SOME_TOKEN>}")
