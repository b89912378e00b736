"""The distinct keys of many strings, numbered, in a few bytes each."""

from array import array

SIZE = 16  # bytes of a key
FREE = -1
FEWEST = 1024  # slots of an empty table; a power of 2


class Distinct:
    """Numbers keys from 0 in the order in which they first come.

    A dictionary of bytes takes some 170 bytes a key, this table 22 to 28. Keys must be digests: their first
    bytes choose a slot, so that few share one. A slot that is taken leads to the next one.
    """

    def __init__(self) -> None:
        self._keys = bytearray()
        self._slots = array("i", [FREE]) * FEWEST

    def __len__(self) -> int:
        return len(self._keys) // SIZE

    def place(self, key: bytes) -> int:
        """The number of a key of 16 bytes. A new key gets the next number."""
        slot, place = self._find(key)
        if place != FREE:
            return place
        place = len(self)
        self._slots[slot] = place
        self._keys += key
        if 3 * len(self) > 2 * len(self._slots):
            self._widen()
        return place

    def _find(self, key: bytes) -> tuple[int, int]:
        """The slot of a key with its number, or the slot that it may take with FREE."""
        slots, keys = self._slots, self._keys
        last = len(slots) - 1
        slot = int.from_bytes(key[:8], "little") & last
        while (place := slots[slot]) != FREE and keys[SIZE * place : SIZE * (place + 1)] != key:
            slot = slot + 1 & last
        return slot, place

    def _widen(self) -> None:
        self._slots = array("i", [FREE]) * (2 * len(self._slots))
        for place in range(len(self)):
            slot, _ = self._find(bytes(self._keys[SIZE * place : SIZE * (place + 1)]))
            self._slots[slot] = place
