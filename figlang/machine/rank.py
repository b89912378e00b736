"""The number of this process among those of one command."""

import os

# Of torchrun and Lightning, of SLURM's srun, of LSF's jsrun. SLURM sets its own for every job, so it is not
# asked first.
VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")


def rank() -> int:
    """The number of this process, from 0. It is 0 if nothing else is said in the environment."""
    return next((int(os.environ[name]) for name in VARIABLES if name in os.environ), 0)
