"""Every library that is imported is declared, every declared one is used, and every extra that a message
names exists."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.sources import ENTRIES, ROOT, files, nodes_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OWN = {"figlang", "hydra_plugins", "tests", "benchmarks", "docs", "train", "evaluate"}
# Imported names whose package may not be installed here, so that their distribution cannot be asked for.
NAMES = {
    "deepspeed": "deepspeed",
    "liger_kernel": "liger-kernel",
    "hydra_plugins.hydra_submitit_launcher": "hydra-submitit-launcher",
}
# A name that several distributions share, with the one that figlang imports from.
SHARED = {"google": "google-genai"}
# Declared, and used by their command, by another library, or by nothing but a name.
UNIMPORTED = {
    "alembic": "MLflow takes it for its database",
    "sqlalchemy": "MLflow takes it for its database",
    "tensorboard": "torch's writer takes it",
    "comet-ml": "Lightning's logger takes it",
    "accelerate": "transformers takes it to lay a network out over devices",
    "bitsandbytes": "transformers takes it for weights in 8 and 4 bits",
    "lion-pytorch": "figlang/training/optimizers.py imports it by its name in a text",
    "schedulefree": "figlang/training/optimizers.py imports it by its name in a text",
    "hydra-submitit-launcher": "hydra finds it as a plugin",
    "vllm": "the engine asks for it by name, and a package of the tests stands in for it",
    "latex2mathml": "docs/making writes formulas with it",
    "mkdocs-material": "mkdocs finds it as a theme",
    "mkdocstrings": "mkdocs finds it as a plugin",
}
# These ask for their own versions of torch, which one set of versions cannot hold too.
UNPINNED = {"vllm"}
# The environments of `make bench-score` and `make test-served` have these.
ELSEWHERE = {"lm_eval", "llama_cpp", "trl"}


def canonical(requirement: str) -> str:
    """The name of a distribution, as registries compare it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def imported(*places: str) -> Iterator[tuple[str, bool, str]]:
    """The library, whether it is imported at the top of the file, and the file."""
    for file in files(*places):
        for node in nodes_of(file):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in {name.partition(".")[0] for name in names}:
                if name not in sys.stdlib_module_names and name not in OWN:
                    yield name, node.col_offset == 0, file


INSTALLED = metadata.packages_distributions()


def distribution(name: str) -> str:
    found = INSTALLED.get(name)
    return SHARED.get(name) or canonical(found[0] if found else NAMES.get(name, name))


PACKAGE = ("figlang", "hydra_plugins", *ENTRIES)
REQUIRED = {canonical(requirement) for requirement in PROJECT["dependencies"]}
OPTIONAL = {
    canonical(requirement) for extra, needed in EXTRAS.items() if extra != "dev" for requirement in needed
}
DEVELOPERS = {canonical(requirement) for requirement in EXTRAS["dev"]}


def test_what_a_file_imports_at_its_top_is_required() -> None:
    found = {(distribution(name), file) for name, top, file in imported(*PACKAGE) if top}
    assert not {(name, file) for name, file in found if name not in REQUIRED}


def test_what_a_function_imports_is_required_or_in_an_extra() -> None:
    found = {(distribution(name), file) for name, _, file in imported(*PACKAGE)}
    assert not {(name, file) for name, file in found if name not in REQUIRED | OPTIONAL}


def test_what_tests_import_is_for_developers() -> None:
    found = {
        (distribution(name), file)
        for name, _, file in imported("tests", "benchmarks")
        if name not in ELSEWHERE
    }
    # Lightning's wheel carries lightning_fabric; figlang[…] in dev stands for its extras.
    assert not {(name, file) for name, file in found if name not in REQUIRED | OPTIONAL | DEVELOPERS}


def test_what_is_declared_is_imported() -> None:
    used = {distribution(name) for name, *_ in imported(*PACKAGE)}
    assert (REQUIRED | OPTIONAL) - used == set(UNIMPORTED)


@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_nothing_is_declared_twice(extra: str | None) -> None:
    names = [canonical(each) for each in (PROJECT["dependencies"] if extra is None else EXTRAS[extra])]
    assert len(names) == len(set(names))
    assert extra is None or not REQUIRED & set(names)


def test_messages_and_documents_name_the_extras_there_are() -> None:
    files = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "conf").rglob("*.*"),
        *(path for place in ("figlang", "hydra_plugins") for path in (ROOT / place).rglob("*.py")),
    ]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.name != "CHANGELOG.md")
    named = {
        name.strip() for listed in re.findall(r"figlang\[([a-z, ]+)\]", text) for name in listed.split(",")
    }
    assert named == set(EXTRAS) - {"dev"}


# What torch's wheel with CUDA brings. The wheel pins it to its own build.
OF_CUDA = re.compile("nvidia-|cuda-|triton$")


def test_every_library_has_one_version_in_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    pinned = {canonical(name): version for name, version in pairs}
    assert len(pinned) == len(pairs)
    assert (REQUIRED | OPTIONAL | DEVELOPERS) - {"figlang"} - UNPINNED <= set(pinned)
    # What those need in turn, as far as it is installed here.
    left, seen = sorted(REQUIRED | OPTIONAL | DEVELOPERS), set[str]()
    while left:
        name = left.pop()
        try:
            needed = [Requirement(each) for each in metadata.requires(name) or ()]
        except metadata.PackageNotFoundError:
            continue
        seen.add(name)
        found = {
            canonical(each.name) for each in needed if not each.marker or each.marker.evaluate({"extra": ""})
        }
        left += {each for each in found if not OF_CUDA.match(each)} - seen
    assert {"torch", "mpmath"} <= seen  # torch needs sympy, which needs mpmath
    assert not seen - {"figlang"} - set(pinned)
