"""llama-cpp-python's server, unchanged but for the speed of one line: `python tests/llama_server.py --model
FILE …`.

For every token whose log-probability is asked it sorts the whole vocabulary in Python (a sixth of a second
for 49,152 tokens) and takes the first few; `heapq.nlargest` is by its documentation the same list.
"""

import heapq
import runpy
from collections.abc import Iterable

import llama_cpp.llama

# The interface of completions gives five log-probabilities for a token at most.
MOST = 5


def largest(pairs: Iterable[tuple[float, int]], reverse: bool) -> list[tuple[float, int]]:
    assert reverse
    return heapq.nlargest(MOST, pairs)


if __name__ == "__main__":
    llama_cpp.llama.sorted = largest
    runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
