"""Limit what libraries keep in the process: freed memory, and code for products of one shape."""

import ctypes
import os
import sys

# Numbers of mallopt's settings in glibc's malloc.h, and the largest mmap threshold that it accepts.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST_THRESHOLD = 32 * 2**20


def keep_freed_memory() -> bool:
    """Make glibc reuse freed blocks of up to 32 MB.

    A training step allocates and frees the same gradients, casts and activations every time. By default,
    glibc gives large blocks back to the system, which hands them out again page by page, filled with zeros.
    That costs about 9,000 page faults a step.

    Returns:
        False with another C library. Then nothing was changed.
    """
    library = _glibc()
    if library is None:
        return False
    settings = {M_MMAP_THRESHOLD: LARGEST_THRESHOLD, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 64 * 2**20}
    return all(library.mallopt(setting, value) == 1 for setting, value in settings.items())


def give_back() -> None:
    """Give freed memory back to the system, if the C library is glibc.

    After `keep_freed_memory`, no block of up to 32 MB is given back by itself. That is right within a step,
    but what one stage of an evaluation has freed is not of use to the next: its blocks have other sizes.
    """
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if library is not None and hasattr(library, "gnu_get_libc_version") else None


# Where oneDNN, and torch's layer over it, read how many shapes they keep code for. By default it is 1,024.
CAPACITIES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
# More than the products of one pack in each of two threads, or of a layer forward or back; the next layer has
# the same shapes.
KEPT_SHAPES = 64


def keep_little_code() -> None:
    """Make oneDNN keep the code of the last products only. Call it before the first product.

    It makes code for every shape of a product, and keeps memory to work in with it. Nearly each pack of items
    and each step of a training has another number of tokens, so the code is used in the layers of one pack or
    step and hardly again. All of it took 17 KB an item in scoring, and in trainings up to as much memory as a
    step.
    A number that the user has set stays.
    """
    for name in CAPACITIES:
        os.environ.setdefault(name, str(KEPT_SHAPES))
