"""The way of the data, read from the import statements: rooms import one way, and libraries only where they
belong.

Each law is one test of all files, which names every file that breaks it."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.sources import ENTRIES, PACKAGE, ROOT, files, nodes_of, text_of

SOURCES = [*PACKAGE, *ENTRIES]
TESTS = files("tests")
COMMANDS = [name for name in files("figlang/commands") if not name.endswith("__init__.py")]

# Each room may import from those before it. Files at the top are rooms of their own.
ORDER = (
    *(
        "errors",
        "types",
        "files",
        "machine",
        "text",
        "config",
        "cpu",
        "statistics",
        "tables",
        "tasks",
        "scoring",
        "models",
    ),
    *(
        "runs",
        "evaluation",
        "exports",
        "training",
        "reports",
        "release",
        "rating",
        "creation",
        "api",
        "commands",
        "__main__",
    ),
)
TORCHLESS = ("errors", "types", "files", "machine", "text", "config", "statistics", "tables", "tasks")


@cache
def imported(name: str) -> frozenset[str]:
    """Full names of everything that a file imports, anywhere in it: `from a.b import c` gives a.b and
    a.b.c."""
    found = set()
    for node in nodes_of(name):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative imports hide the way"
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def uses(name: str, *packages: str) -> set[str]:
    return {
        module
        for module in imported(name)
        if any(f"{module}.".startswith(f"{package}.") for package in packages)
    }


def broken(names: Iterable[str], faults: Callable[[str], object]) -> dict[str, object]:
    """The files with faults, and these."""
    names = list(names)
    assert names, "no file is looked at"
    return {name: found for name in names if (found := faults(name))}


def room(name: str) -> str:
    return Path(name).parts[1].removesuffix(".py") if name.startswith("figlang/") else ""


def test_every_room_is_in_the_order() -> None:
    assert {room(name) for name in SOURCES} - {"", "__init__"} == set(ORDER)


def test_rooms_import_one_way() -> None:
    def downstream(name: str) -> set[str]:
        return uses(name, *(f"figlang.{other}" for other in ORDER[ORDER.index(room(name)) + 1 :]))

    assert not broken((name for name in SOURCES if room(name) in ORDER), downstream)


def test_imports_make_no_circle() -> None:
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in SOURCES}
    graph = {
        module: {other for other in imported(name) if other in modules and other != module}
        for module, name in modules.items()
    }
    # A package's index names its files: `from figlang.tables import cells` inside figlang/tables needs the
    # file, not the index.
    for module, needed in graph.items():
        needed -= {package for package in needed if any(other.startswith(f"{package}.") for other in needed)}
        needed -= {module.rpartition(".")[0]}
    assert list(TopologicalSorter(graph).static_order())


def test_hydra_stays_in_the_configuration() -> None:
    outside = (name for name in SOURCES if room(name) != "config")
    assert not broken(outside, lambda name: uses(name, "hydra", "omegaconf"))


def test_the_commands_go_through_the_door() -> None:
    assert not broken(COMMANDS, lambda name: not uses(name, "figlang.config.entry"))


WAYS_IN = {*ENTRIES, *COMMANDS, "figlang/__main__.py"}


def test_only_the_commands_know_the_door() -> None:
    others = (name for name in SOURCES if name not in WAYS_IN and room(name) != "config")
    assert not broken(others, lambda name: uses(name, "figlang.config.entry"))


def test_models_are_opened_at_one_door() -> None:
    opens = ("from_pretrained", "from_config", "pipeline")

    def opened(name: str) -> list[str]:
        calls = [node.func for node in nodes_of(name) if isinstance(node, ast.Call)]
        return [ast.unparse(one) for one in calls if isinstance(one, ast.Attribute) and one.attr in opens]

    others = (name for name in SOURCES if name != "figlang/models/opening.py")
    # PEFT's settings are data: it has no code to trust.
    assert broken(others, opened) == {"figlang/models/adapter_kinds.py": ["kind.from_pretrained"]}


def test_reading_and_counting_need_no_torch() -> None:
    torchless = (name for name in SOURCES if room(name) in TORCHLESS)
    assert not broken(
        torchless, lambda name: uses(name, "torch", "pytorch_lightning", "transformers", "peft")
    )


def test_a_process_that_only_reads_or_counts_loads_no_torch() -> None:
    """One process imports room after room, and names those that bring a large library with them."""
    rooms = ("errors", "types", "statistics", "tables", "tasks", "rating", "creation", "reports")
    modules = [
        (room(name), name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for place in rooms
        for name in SOURCES
        if room(name) == place
    ]
    check = (
        "import sys, importlib\nlarge = {'torch', 'transformers', 'hydra', 'datasets'}\n"
        f"for place, module in {modules}:\n    importlib.import_module(module)\n"
        "    print(*(f'{place}:{name}' for name in large & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    assert len(result.stdout.splitlines()) == len(modules)
    assert set(result.stdout.split()) == set()


# Names of benchmarks. They stand in the folders of figlang/tasks, in the registry, in conf/ and in documents,
# and nowhere else, not even in an example.
BENCHMARKS = re.compile(
    r"munch|miqa|fig[-_ ]?qa|winogrande|winonlogic|mabl\b|\bimpli\b|snli|mnli|multinli|\banli\b|fever",
    re.IGNORECASE,
)


def named_benchmarks(name: str) -> set[str]:
    return {match[0].lower() for match in BENCHMARKS.finditer(text_of(name))}


PAGES = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "figlang").rglob("page.*")
    if path.parent.name != "__pycache__"
]
PLUGINS = files("hydra_plugins")


def test_benchmarks_are_named_in_their_rooms() -> None:
    elsewhere = (
        name
        for name in [*SOURCES, *PAGES, *PLUGINS]
        if name != "figlang/tasks/registry.py" and (len(Path(name).parts) < 4 or room(name) != "tasks")
    )
    assert PAGES
    assert PLUGINS
    assert not broken(elsewhere, named_benchmarks)


def is_compared(node: ast.Compare) -> bool:
    """Whether a comparison is of a format, a family of models or a kind of scoring."""
    for side in (node.left, *node.comparators):
        name, owner = getattr(side, "attr", ""), getattr(side, "value", None)
        of = getattr(owner, "attr", getattr(owner, "id", ""))
        if name in ("format", "family") or (name == "kind" and of in ("scoring", "scored")):
            return True
    return False


def test_no_format_or_first_item_decides_the_way() -> None:
    """What a format decides stands in figlang/models/formats.py, what items ask in their task. The options
    know their own values, and say `causal` and `served` to others."""
    for name in SOURCES:
        for node in nodes_of(name):
            if isinstance(node, ast.Compare) and is_compared(node) and room(name) != "config":
                texts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
                assert not any(isinstance(part.value, str) for part in texts), f"{name}:{node.lineno}"
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                first = node.args[0]
                of = getattr(first, "value", None)
                several = getattr(of, "attr", getattr(of, "id", ""))
                assert not (isinstance(first, ast.Subscript) and several == "items"), f"{name}:{node.lineno}"


LONGEST = 60  # lines of a function, its docstring included; what is longer has steps that deserve names


def test_functions_are_short_enough_to_read() -> None:
    def longer(name: str) -> list[tuple[int, int]]:
        functions = [
            node for node in nodes_of(name) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        lengths = [(node.lineno, (node.end_lineno or 0) - node.lineno + 1) for node in functions]
        return [(line, length) for line, length in lengths if length > LONGEST]

    assert not broken(SOURCES, longer)


LARGEST = 400  # lines of a file; what is longer has more than one subject


def test_files_have_one_subject_each() -> None:
    assert not broken([*SOURCES, *TESTS], lambda name: len(text_of(name).splitlines()) > LARGEST)


def test_tests_mirror_the_house() -> None:
    """`tests/<room>/test_<module>.py`, or `test_<module>_<subject>.py` where a module has several test files.

    A room's own name stands for the room as a whole, and a folder in a room for all that is in it.
    """
    for name in TESTS:
        path = Path(name)
        place = ROOT / "figlang" / path.parent.relative_to("tests")
        if path.parent == Path("tests") or not path.name.startswith("test_") or not place.is_dir():
            continue
        subjects = {place.name} | {other.stem for other in place.iterdir() if other.name[0] not in "_."}
        stem = path.stem.removeprefix("test_")
        assert any(f"{stem}_".startswith(f"{subject}_") for subject in subjects), (
            f"{name} is named after nothing in {place.relative_to(ROOT)}"
        )


def test_public_functions_say_what_they_take() -> None:
    """The sentence of a function tells up to three arguments apart. More are listed, or are those of another
    function that is named."""

    def unsaid(name: str) -> list[int]:
        module = nodes_of(name)[0]
        assert isinstance(module, ast.Module)
        lines = []
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
                taken, text = node.args.args + node.args.kwonlyargs, ast.get_docstring(node) or ""
                said = "Args:" in text or re.search(r"[Aa]rguments\b[^.]*\bare\s+those\s+of", text)
                lines += [] if len(taken) <= 3 or said else [node.lineno]
        return lines

    assert not broken(SOURCES, unsaid)
