"""Laws of what libraries keep in the process: freed memory, and code for products."""

import os
import subprocess
import sys

import pytest

from figlang.cpu.memory import CAPACITIES


def test_kept_memory_is_used_again_without_page_faults() -> None:
    def faults(kept: bool) -> int:
        program = (
            "import resource, sys\nfrom figlang.cpu.memory import keep_freed_memory\n"
            f"if {kept} and not keep_freed_memory(): sys.exit('another C library')\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\nfor _ in range(10):\n"
            "    blocks = [bytearray(24 * 2**20) for _ in range(4)]\n    del blocks\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)\n"
        )
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        if "another C library" in result.stderr:
            pytest.skip("only glibc can keep freed memory")
        return int(result.stdout)

    assert 4 * faults(kept=True) < faults(kept=False)


def test_memory_that_is_given_back_is_no_longer_resident_though_blocks_between_are_in_use() -> None:
    program = """
import re, sys
from figlang.cpu.memory import give_back, keep_freed_memory
def resident():
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(r"VmRSS:\\s+([0-9]+)", file.read())[1])
if not keep_freed_memory():
    give_back()  # it does nothing there
    sys.exit("another C library")
blocks = [bytearray(b"x" * 2**16) for _ in range(1024)]
kept = blocks[::16]
full = resident()
del blocks
idle = resident()
give_back()
print(full - idle, idle - resident(), all(block == b"x" * 2**16 for block in kept))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if "another C library" in result.stderr:
        pytest.skip("only glibc keeps freed memory")
    freed, given, whole = result.stdout.split()
    assert int(freed) < 8 * 2**20 < 40 * 2**20 < int(given)
    assert whole == "True"


@pytest.mark.every
def test_products_of_ever_new_shapes_leave_no_code_behind() -> None:
    program = """
import ctypes, sys, torch
from figlang.cpu.memory import keep_little_code
fields = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
class Use(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in fields.split()]
library = ctypes.CDLL(None)
if not hasattr(library, "mallinfo2") or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
    sys.exit("not here")
library.mallinfo2.restype = Use
if sys.argv[1] == "little":
    keep_little_code()
def multiply(shapes):
    for rows in shapes:
        torch.ops.mkldnn._linear_pointwise(torch.ones(rows, 32), torch.ones(96, 32), None, "none", [], "")
    return library.mallinfo2().uordblks
print(-multiply(range(1, 200)) + multiply(range(200, 600)))
"""

    def grown(how: str) -> int:
        plain = {name: value for name, value in os.environ.items() if name not in CAPACITIES}
        words = [sys.executable, "-c", program, how]
        result = subprocess.run(words, env=plain, capture_output=True, text=True, check=False)
        if "not here" in result.stderr:
            pytest.skip("the memory in use, or a product by oneDNN, cannot be asked for")
        return int(result.stdout)

    assert 5 * grown("little") < grown("much")
