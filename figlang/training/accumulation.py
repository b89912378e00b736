"""A step whose items are read in several parts, so that less memory is needed.

Each part's loss is weighted by its share of the cases (choices, or tokens of method=lm). So the sum of the
gradients is the gradient of the whole batch. Options compete within an item only, so no loss depends on which
items share a part. The losses of `step_wide` compare items and are not cut.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from figlang.machine.faults import lacks_memory


class Uncut:
    """The examples of a step, which are made into tensors part by part. Lightning leaves it alone.

    Args:
        examples: The examples, by ascending length.
    """

    def __init__(self, examples: Sequence[Any]) -> None:
        self.examples = examples

    def cut(self, parts: int) -> list[Sequence[Any]]:
        """Divide the examples into at most `parts` parts of neighbours. Their sizes differ by one at most."""
        count = min(parts, len(self.examples))
        ends = [len(self.examples) * part // count for part in range(count + 1)]
        return [self.examples[start:end] for start, end in pairwise(ends)]


class Parts:
    """The number of parts of a step.

    Args:
        setting: `method.accumulate`.

    Attributes:
        count: The number.
    """

    def __init__(self, setting: str) -> None:
        self.count = 1 if setting == "auto" else int(setting)
        self.automatic = setting == "auto"

    @property
    def needed(self) -> bool:
        """Whether a step may have several parts."""
        return self.automatic or self.count > 1

    def tried(self, step: Callable[[int], Any], examples: int, again: Callable[[int], None]) -> Any:
        """The result of a step, which is repeated with twice as many parts if the memory is not enough.

        Args:
            step: Reads the step in a number of parts.
            examples: Number of its examples.
            again: Called with the new number of parts before a repetition.
        """
        while True:
            try:
                return step(self.count)
            except (RuntimeError, MemoryError) as error:  # torch's lack of memory is a RuntimeError
                if not (self.automatic and lacks_memory(error) and self.count < examples):
                    raise
            self.count = min(2 * self.count, examples)
            again(self.count)
