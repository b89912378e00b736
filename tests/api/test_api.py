"""`import figlang` is quick, and the names of the API are there for programs, editors and type checkers."""

import ast
import doctest
import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import figlang

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    f"figlang.api.{path.stem}" for path in (ROOT / "figlang" / "api").glob("*.py") if path.stem != "__init__"
)


def run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    return result.stdout


def test_import_loads_nothing_large() -> None:
    # The reader of versions takes longer than all else, and Ctrl-C is not yet taken while it is imported.
    large = "torch", "numpy", "hydra", "transformers", "pandas", "datasets", "rich", "importlib.metadata"
    assert run(f"import sys, figlang; print({set(large)} & set(sys.modules))").strip() == "set()"


@pytest.mark.parametrize("name", ["load", "items", "measure", "compare", "report", "Predictions"])
def test_what_only_reads_and_counts_needs_no_torch(name: str) -> None:
    assert run(f"import sys, figlang; figlang.{name}; print('torch' in sys.modules)").strip() == "False"


@pytest.mark.parametrize(("call", "after"), [("enable", True), ("disable", False)])
def test_garbage_is_collected_after_an_import_as_before_it(call: str, after: bool) -> None:
    code = f"import gc, figlang; gc.{call}(); figlang.measure; print(gc.isenabled())"
    assert run(code).strip() == str(after)


def test_every_name_is_there_and_unknown_ones_are_not() -> None:
    for name in figlang.__all__:
        assert callable(getattr(figlang, name)), name
        assert name in dir(figlang)
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        _ = figlang.no_such  # type: ignore[attr-defined]


def test_editors_see_the_names_that_programs_get() -> None:
    tree = ast.parse((ROOT / "figlang" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(seen) == set(figlang.__all__)
    for name, module in seen.items():
        found = getattr(importlib.import_module(str(module)), name)
        assert getattr(figlang, name) is found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_says_what_it_takes(module: str) -> None:
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    for node in functions:
        text, taken = ast.get_docstring(node) or "", [*node.args.args, *node.args.kwonlyargs]
        assert text or node.name in ("tables", "lines", "emit"), f"{module}.{node.name}"
        for argument in taken if node.name not in ("tables", "lines", "emit") else []:
            known = argument.arg in ("self", "cls") or len(taken) == 1
            assert known or f"{argument.arg}:" in text, f"{module}.{node.name}: {argument.arg}"


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(module), report=True)
    assert not result.failed


def test_the_functions_of_the_api_have_examples() -> None:
    for name in ("load", "items", "open_model", "measure", "compare"):
        assert ">>> import figlang" in (getattr(figlang, name).__doc__ or ""), name


def test_the_version_is_that_of_the_package() -> None:
    assert figlang.__version__ == metadata.version("figlang")
    assert "__version__" in dir(figlang)
