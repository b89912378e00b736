"""The way of the data, read from the import statements: upstream to downstream, and libraries only where they belong."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENTRIES = ["train.py", "evaluate.py"]
MODULES = (
    "transfer",
    "miqa_table3",
    "munch_judge",
    "munch_generate",
    "munch_figures",
    "generate",
    "rate",
    "merge",
    "compare",
    "describe",
    "contamination",
    "release",
    "average",
    "report/__main__",
)
COMMANDS = [*ENTRIES, *(f"figlang/{name}.py" for name in MODULES)]
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "figlang").rglob("*.py")) + ENTRIES
DATA = [name for name in SOURCES if name.startswith("figlang/data/")]
READERS = [name for name in DATA if name != "figlang/data/datamodule.py"]

# Each may import from those before it.
RIVER = ["data", "prompts", "served", "encode", "scoring", "models", "evaluation", "metrics", "report"]


def imported(name: str) -> set[str]:
    """Full names of everything that a file imports, anywhere in it: `from a.b import c` gives a.b and a.b.c."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative imports hide the way"
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def uses(name: str, *packages: str) -> set[str]:
    return {module for module in imported(name) if any(f"{module}.".startswith(f"{package}.") for package in packages)}


def place(name: str) -> int | None:
    """Where in the river a file is; the datamodule turns encoded items into batches, so it is with the models."""
    if name == "figlang/data/datamodule.py":
        return RIVER.index("models")
    part = Path(name).relative_to("figlang").parts[0].removesuffix(".py") if name.startswith("figlang/") else ""
    return RIVER.index(part) if part in RIVER else None


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in ("figlang/command.py", *COMMANDS)])
def test_configuration_libraries_stay_at_the_door(name: str) -> None:
    assert not uses(name, "hydra", "omegaconf", "figlang.command")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_go_through_the_door(name: str) -> None:
    assert not uses(name, "hydra", "omegaconf")
    assert uses(name, "figlang.command")


@pytest.mark.parametrize("name", [*READERS, "figlang/types.py", "figlang/errors.py", "figlang/sources.py", "figlang/metrics.py"])
def test_reading_and_counting_need_no_torch(name: str) -> None:
    assert not uses(name, "torch", "pytorch_lightning", "transformers", "peft")


@pytest.mark.parametrize("name", READERS)
def test_readers_know_nothing_downstream(name: str) -> None:
    downstream = [f"figlang.{room}" for room in RIVER if room != "data"]
    assert not uses(name, *downstream, "figlang.data.datamodule")


@pytest.mark.parametrize("name", [name for name in SOURCES if place(name) is not None])
def test_imports_point_upstream(name: str) -> None:
    downstream = [f"figlang.{room}" for room in RIVER[(place(name) or 0) + 1 :]]
    assert not uses(name, *downstream)


def test_imports_make_no_circle() -> None:
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in SOURCES}
    graph = {
        module: {other for other in imported(name) if other in modules and other != module} for module, name in modules.items()
    }
    # A package's index names its files: `from figlang.data import figqa` inside figlang/data needs the file, not the index.
    for module, needed in graph.items():
        needed -= {package for package in needed if any(other.startswith(f"{package}.") for other in needed)}
        needed -= {module.rpartition(".")[0]}
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize(
    "name",
    [
        "figlang/data/figqa.py",
        "figlang/data/miqa.py",
        "figlang/prompts/miqa.py",
        "figlang/metrics.py",
        "figlang/report/assembly.py",
        "figlang/miqa/table.py",
        "figlang/data/munch.py",
        "figlang/data/mix.py",
        "figlang/prompts/munch.py",
        "figlang/munch/table.py",
        "figlang/association.py",
        "figlang/munch/table3.py",
        "figlang/munch/similarity.py",
        "figlang/rating/agreement.py",
        "figlang/rating/answers.py",
        "figlang/rating/ratings.py",
        "figlang/rating/sheets.py",
        "figlang/reference.py",
        "figlang/submission.py",
        "figlang/overlap.py",
        "figlang/overlap_table.py",
    ],
)
def test_a_process_that_only_reads_or_counts_loads_no_torch(name: str) -> None:
    module = name.removesuffix(".py").replace("/", ".")
    check = f"import sys, {module}; print(*{{'torch', 'transformers', 'hydra', 'datasets'}} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.split() == []
