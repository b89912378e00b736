"""All published numbers of all benchmarks."""

from figlang.tasks.figqa import published as figqa
from figlang.tasks.miqa import published as miqa
from figlang.tasks.munch import published as munch
from figlang.tasks.reference import Published


def results() -> list[Published]:
    return [*figqa.results(), *miqa.results(), *munch.results()]
