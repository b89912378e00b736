"""Libraries are imported with less work, and as they would be without."""

import gc
import json
import subprocess
import sys
import warnings

import pytest
from transformers.utils.import_utils import fetch__all__

from figlang.machine.importing import collected, imported, shortened, unadvised, uncollected
from tests.running import ROOT

# What `transformers.models` was told of its classes, and how many folders were read for it.
LISTED = """
import json, sys
from figlang.machine.importing import imported
if sys.argv[1] == "ours":
    imported("figlang.models.opening")
else:
    from transformers import AutoConfig
from transformers.utils import import_utils
read = import_utils.create_import_structure_from_path.cache_info().misses
places = [sys.modules[name]._class_to_module for name in ("transformers", "transformers.models")]
finders = sorted(getattr(one, "__name__", type(one).__name__) for one in sys.meta_path)
functions = [import_utils.define_import_structure.__module__, import_utils.fetch__all__.__module__]
print(json.dumps([read, places, finders, functions]))
"""


def listed(way: str) -> list[object]:
    words = [sys.executable, "-W", "ignore", "-c", LISTED, way]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    found: list[object] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.mark.every
def test_transformers_reads_the_files_of_its_models_once_and_knows_the_same_classes() -> None:
    read, *ours = listed("ours")
    twice, *theirs = listed("theirs")
    assert ours == theirs
    assert isinstance(read, int)
    assert isinstance(twice, int)
    assert read < 0.6 * twice


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        '__all__ = ["A", "B"]',
        'import x\n\n__all__ = ["A"]\n',
        '\n__all__ = [\n    "A",\n    "B",\n]\nx = 1\n',
        '\n__all__ = ["A"]\n\nx = 1\n__all__ = ["B"]\n',
        '__all__ = ["A"]\nx = "\\n__all__"\n    __all__ = ["B"]\n',
        '\r\n__all__ = ["A"]\r\nx\x0c__all__ = ["B"]\r\n',
        "see __all__\n",
    ],
)
def test_a_text_says_the_same_from_its_last_all_on(text: str) -> None:
    seen: list[str] = []

    def said(content: str) -> object:
        seen.append(content)
        return fetch__all__(content)

    assert shortened(said)(text) == fetch__all__(text)
    assert len(seen[0]) <= len(text)


def test_nothing_is_read_before_the_last_all() -> None:
    assert shortened(str)('x = 1\n__all__ = ["A"]\n__all__ = ["B"]\n') == '__all__ = ["B"]\n'


@pytest.mark.parametrize("before", [True, False])
def test_garbage_is_collected_again_afterwards(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    try:
        with uncollected():
            assert not gc.isenabled()
            with collected():
                assert gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled() is before
        with pytest.raises(ModuleNotFoundError):
            imported("figlang.no_such_module")
        assert gc.isenabled() is before
    finally:
        gc.enable()


def test_a_second_run_of_a_process_keeps_no_garbage_of_the_first_one() -> None:
    before = gc.get_freeze_count()
    assert imported("json") is json
    assert gc.get_freeze_count() == before


def test_advice_about_notebooks_is_ignored_while_libraries_are_imported_and_no_filter_stays() -> None:
    with warnings.catch_warnings(record=True) as said:
        before = list(warnings.filters)
        with unadvised():
            warnings.warn("IProgress not found. Please update jupyter", stacklevel=1)
            warnings.filterwarnings("ignore", message="of a library")
        assert [one for one in warnings.filters if one not in before] == [warnings.filters[0]]
        assert warnings.filters[1:] == before
        warnings.filterwarnings("ignore", message="IProgress not found")
        before = list(warnings.filters)
        with unadvised():
            pass
        assert list(warnings.filters) == before
    assert not said
