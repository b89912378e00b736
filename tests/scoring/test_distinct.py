"""Laws of numbering keys: as a dictionary does, in less room."""

import random
import tracemalloc

from figlang.scoring.distinct import FEWEST, SIZE, Distinct


def test_keys_have_the_numbers_that_a_dictionary_gives_them() -> None:
    draw = random.Random(0)
    keys = [draw.randbytes(SIZE) for _ in range(3 * FEWEST)]
    # Some begin alike, so that they want one slot, and some differ at their end alone.
    keys += [key[:8] + draw.randbytes(SIZE - 8) for key in keys[:200]]
    keys += [key[:-1] + bytes([key[-1] ^ 1]) for key in keys[:200]]
    asked = keys + draw.choices(keys, k=2 * len(keys))
    known: dict[bytes, int] = {}
    distinct = Distinct()
    for key in asked:
        assert distinct.place(key) == known.setdefault(key, len(known))
    assert len(distinct) == len(known)


def test_a_key_takes_less_than_a_third_of_what_a_dictionary_takes() -> None:
    def taken(many: int, build: type[Distinct] | type[dict[bytes, int]]) -> int:
        draw = random.Random(0)
        tracemalloc.start()
        try:
            kept = build()
            for number in range(many):
                key = draw.randbytes(SIZE)
                kept.place(key) if isinstance(kept, Distinct) else kept.setdefault(key, number)
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert 3 * taken(20_000, Distinct) < taken(20_000, dict)
