"""`figlang transfer` over several data sets with broken checkpoints in between, and adapters that bring
code."""

import csv
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from figlang.commands.train import main as train_command
from figlang.commands.transfer import main as transfer_command
from tests.attack import damage, world
from tests.attack.attacker import QUIET, RAN, Damage, contents

TINY = ("debug=fast", *QUIET, "data.limit=8", "trainer.precision=32-true")
RUN, ADAPTED = "good", "adapted"
CODE = f"from pathlib import Path\nPath({RAN!r}).touch()\nclass Network: pass\n"


def with_code(name: str, **entries: object) -> Damage:
    """A folder with Python code in it, and a file that names the code."""

    def spoil(folder: Path) -> None:
        for path in (folder / "model" / "code_of_them.py", folder / "code_of_them.py"):
            path.write_text(CODE)
        if not (folder / "model" / name).exists():
            (folder / "model" / name).write_text("{}")
        damage.entries(f"model/{name}", **entries)(folder)

    return spoil


AUTO = {"AutoConfig": "code_of_them.Network", "AutoModel": "code_of_them.Network"}
# What is done to the folder of a run. None of them has numbers.
BROKEN: dict[str, Damage] = {
    "gone": damage.missing("model"),
    "cut": damage.cut("model/model.safetensors"),
    "page": damage.holding("model/model.safetensors", damage.PAGE),
    "empty": damage.holding("model/model.safetensors", b""),
    "loop": damage.loop("model/model.safetensors"),
    "nan": lambda folder: world.tensors(folder, "model/model.safetensors", "nan"),
    "less": lambda folder: world.tensors(folder, "model/model.safetensors", "less"),
    "no-config": damage.missing("model/config.json"),
    "config-cut": damage.cut("model/config.json"),
    "wide": damage.entries("model/config.json", hidden_size=2**16),
    "deep": damage.entries("model/config.json", num_hidden_layers=10**9),
    "another": damage.entries("model/config.json", model_type="nothing"),
    "recipe-cut": damage.cut("model/figlang.json"),
    "recipe-long": damage.entries("model/figlang.json", max_length=10**30),
    "no-words": damage.holding("model/tokenizer.json", damage.BINARY),
}
# What is done to the folder of adapters: with code that must not run, whether they are read or not.
ARMED: dict[str, Damage] = {
    "auto_map": with_code("adapter_config.json", auto_map=AUTO),
    "auto_mapping": with_code(
        "adapter_config.json",
        auto_mapping={"base_model_class": "Network", "parent_library": "code_of_them"},
    ),
    "kind": with_code("adapter_config.json", peft_type="code_of_them.Network"),
    "task": with_code("adapter_config.json", task_type="code_of_them.Network"),
    "runtime": with_code("adapter_config.json", runtime_config={"__class__": "code_of_them.Network"}),
    "modules": with_code("adapter_config.json", target_modules="__import__('code_of_them')"),
    "base": with_code("adapter_config.json", base_model_name_or_path="./code_of_them.py"),
    "tokenizer": with_code(
        "tokenizer_config.json",
        auto_map={"AutoTokenizer": ["code_of_them.Network", None]},
        tokenizer_class="Network",
    ),
}


def call(home: Path, command: Callable[[], None], *words: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.syspath_prepend(str(home))
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr(sys, "argv", ["figlang/commands/transfer.py", *words])
        try:
            command()
        except SystemExit as error:
            return int(error.code or 0)
    return 0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, and one more of each damage beside them."""
    made = tmp_path_factory.mktemp("transfer")
    assert call(made, train_command, *TINY, f"run={RUN}") == 0
    assert call(made, train_command, *TINY, "model=gpt2_lora", "model.init=tiny", f"run={ADAPTED}") == 0
    for whole, spoiled in ((RUN, BROKEN), (ADAPTED, ARMED)):
        for name, spoil in spoiled.items():
            spoil(Path(shutil.copytree(made / whole, made / name)))
        shutil.copytree(made / whole, made / f"{whole}-last")
    return made


@pytest.mark.faults
@pytest.mark.parametrize("spoiled", [BROKEN, ARMED], ids=["broken", "armed"])
def test_broken_checkpoints_are_empty_cells_and_the_others_have_numbers(
    home: Path, spoiled: dict[str, Damage], capsys: pytest.CaptureFixture[str]
) -> None:
    whole = RUN if spoiled is BROKEN else ADAPTED
    last = f"{whole}-last"
    names = [whole, *spoiled, last]
    before = contents(home)
    words = ("data=figqa_sample,miqa_sample", "data.limit=4", "blind=false")
    folder = f"cells-{whole}"
    checkpoints = f"checkpoint={','.join(names)}"
    assert call(home, transfer_command, *QUIET, *words, checkpoints, f"paths.runs={folder}") == 0
    said = "".join(capsys.readouterr())
    assert "Traceback" not in said
    assert not list(home.rglob(RAN)), "foreign code was run"
    after = contents(home)
    assert not [name for name, digest in before.items() if after.get(name) != digest]
    (table,) = (home / folder).rglob("accuracy.csv")
    with table.open(newline="") as file:
        rows = {row[0]: row[1:] for row in csv.reader(file)}
    found = {
        name: next(cells for row, cells in rows.items() if row == name or row.endswith(f"={name}"))
        for name in names
    }
    for name in (whole, last):
        assert found[name][0], found
    if spoiled is BROKEN:
        for name in spoiled:
            assert not any(cell.strip("–") for cell in found[name]), (name, found[name])
