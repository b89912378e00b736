"""Linear layers of a training on a CPU, with their gradients written out.

`adapted.py` makes a step of autograd of one layer, `encoders.py` and `decoders.py` of all those of a block.

Shape letters: N tokens, I inputs, O outputs, R rank.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from figlang.cpu.dropout import clear, scale

Kept = tuple[Tensor | None, ...]


class Plain(NamedTuple):
    """A linear layer without an adapter: x W^T + b.

    Attributes:
        weight_OI, bias: W and b.
        by_onednn: Whether products are oneDNN's.
        learns: Whether W and b are trained.
    """

    weight_OI: Tensor
    bias: Tensor | None
    by_onednn: bool
    learns: bool

    @property
    def trained(self) -> tuple[Tensor | None, Tensor | None]:
        """W and b, or nothing in their places."""
        return (self.weight_OI, self.bias) if self.learns else (None, None)

    @property
    def p(self) -> float:
        """Probability of dropout before an adapter, which is not there."""
        return 0.0

    def ahead(self, x_NI: Tensor, at: Tensor | None, spare: bool = False) -> tuple[Tensor, Kept]:
        """The output (N, O), and what gradients need. The arguments are those of `Low.ahead`."""
        return product(x_NI, self.weight_OI, self.bias, self.by_onednn), (x_NI,) if self.learns else ()

    def back(self, kept: Kept, gradient_NO: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        """Nothing, and the gradients of W and b if they are trained."""
        if not self.learns:
            return None, None, None
        (x_NI,) = kept
        assert x_NI is not None, "it is always kept"
        into_weight = product(gradient_NO.t(), x_NI.t(), None, self.by_onednn)
        return None, into_weight, None if self.bias is None else gradient_NO.sum(0)

    def into_input(
        self, kept: Kept, gradient_NO: Tensor, low_gradient_NR: Tensor | None, onto: Tensor | None = None
    ) -> Tensor:
        """The gradient of x. The arguments and the result are those of `Low.into_input`."""
        return _through(self.weight_OI, gradient_NO, onto, self.by_onednn)


class Low(NamedTuple):
    """A frozen linear layer with an adapter that is trained: x W^T + b + s drop(x) A^T B^T.

    Attributes:
        weight_OI, bias: W and b.
        down_RI, up_OR: A and B.
        scale: s.
        p: Probability of dropout.
        by_onednn: Whether products are oneDNN's.
    """

    weight_OI: Tensor
    bias: Tensor | None
    down_RI: Tensor
    up_OR: Tensor
    scale: float
    p: float
    by_onednn: bool

    @property
    def trained(self) -> tuple[Tensor, Tensor]:
        """A and B."""
        return self.down_RI, self.up_OR

    def ahead(self, x_NI: Tensor, at: Tensor | None, spare: bool = False) -> tuple[Tensor, Kept]:
        """The output of the layer.

        Args:
            x_NI: The input.
            at: The places of x that are dropped; None if there is no dropout.
            spare: Whether the input, which is contiguous then, may be overwritten.

        Returns:
            The output (N, O), and what gradients need: drop(x) without its scale, its product with A^T, and
                the places that are dropped.
        """
        output_NO = product(x_NI, self.weight_OI, self.bias, self.by_onednn)
        dropped_NI = x_NI
        if at is not None:
            clear(dropped_NI := x_NI if spare else x_NI.clone(memory_format=torch.contiguous_format), at)
        low_NR = product(dropped_NI, self.down_RI, None, self.by_onednn)
        output_NO.addmm_(low_NR, self.up_OR.t(), alpha=self._scale())
        return output_NO, (dropped_NI, low_NR, at)

    def back(self, kept: Kept, gradient_NO: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of drop(x) A^T (N, R), of A and of B."""
        dropped_NI, low_NR, _ = kept
        assert dropped_NI is not None, "it is always kept"
        assert low_NR is not None, "it is always kept"
        low_gradient_NR = product(gradient_NO, self.up_OR.t(), None, self.by_onednn).mul_(self._scale())
        into_down = product(low_gradient_NR.t(), dropped_NI.t(), None, self.by_onednn)
        # In this order the narrow one of the two is turned in memory.
        into_up = product(low_NR.t(), gradient_NO.t(), None, self.by_onednn).mul_(self._scale())
        return low_gradient_NR, into_down, into_up.t()

    def into_input(
        self, kept: Kept, gradient_NO: Tensor, low_gradient_NR: Tensor | None, onto: Tensor | None = None
    ) -> Tensor:
        """The gradient of x.

        Args:
            kept: What `ahead` kept.
            gradient_NO: The gradient of the output.
            low_gradient_NR: The first result of `back`.
            onto: A gradient (N, I) to which this one is added in place.

        Returns:
            The gradient, or the sum, (N, I).
        """
        assert low_gradient_NR is not None, "it is the result of back"
        through_NI = torch.mm(low_gradient_NR, self.down_RI)
        if (at := kept[2]) is not None:
            clear(through_NI, at)
        if onto is None:
            return _through(self.weight_OI, gradient_NO, through_NI, self.by_onednn)
        return _through(self.weight_OI, gradient_NO, onto, self.by_onednn).add_(through_NI)

    def _scale(self) -> float:
        """The adapter's scale, with that of dropout."""
        return self.scale * scale(self.p)


Linear = Low | Plain
# How many of the fields of a layer are tensors, which come first.
TENSORS: dict[Any, int] = {Low: 4, Plain: 2}


def product(input: Tensor, weight: Tensor, bias: Tensor | None, by_onednn: bool) -> Tensor:
    """input weight^T + bias.

    Args:
        input: (N, I).
        weight: (O, I).
        bias: (O,).
        by_onednn: Take oneDNN's product in place of torch's usual one.

    Returns:
        (N, O).
    """
    if by_onednn and input.dtype != torch.float64:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
        return result
    return linear(input, weight, bias)


def _through(weight_OI: Tensor, gradient_NO: Tensor, onto: Tensor | None, by_onednn: bool) -> Tensor:
    """The gradient of x by that of x W^T, added to `onto` in place if it is given."""
    if onto is None or by_onednn or onto.dtype != gradient_NO.dtype:
        whole_NI = product(gradient_NO, weight_OI.t(), None, by_onednn)
        return whole_NI if onto is None else onto.add_(whole_NI)
    return onto.addmm_(gradient_NO, weight_OI)
