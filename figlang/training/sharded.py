"""A network whose weights are shared out over processes by FSDP2 (torch's fully_shard)."""

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor


def shard(module: nn.Module, network: nn.Module, mesh: DeviceMesh) -> None:
    """Share out the blocks of `network`, and the rest of `module` as a whole.

    Each block is gathered while it computes. transformers lists the classes of blocks in `_no_split_modules`:
    parts that are not to be split over devices.
    """
    if isinstance(module, FSDPModule):
        return
    blocks = {name for part in network.modules() for name in getattr(part, "_no_split_modules", None) or ()}
    for part in network.modules():
        if type(part).__name__ in blocks:
            fully_shard(part, mesh=mesh)
    fully_shard(module, mesh=mesh)


def whole(tensor: Tensor) -> Tensor:
    """The whole tensor, in every process. It may be shared out over them."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def local(parameter: Tensor) -> Tensor:
    """This process's part of a parameter that FSDP2 or ZeRO 3 may have shared out."""
    if isinstance(parameter, DTensor):
        return parameter.to_local()
    # ZeRO 3 puts an empty tensor in the parameter's place.
    held: Tensor | None = getattr(parameter, "ds_tensor", None)
    return parameter if held is None else held
