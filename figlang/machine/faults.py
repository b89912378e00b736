"""What the machine refuses, in a sentence: no room, no permission, no memory."""

import errno

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
# Paths that are no files: of devices, of links that lead to themselves, too long. That a file is missing is
# no such fault: commands look for it first.
ODD = {
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EIO,
    errno.ENXIO,
    errno.ENODEV,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EINVAL,
}
# The words of torch on CPUs and GPUs, and of safetensors.
NO_MEMORY = ("out of memory", "allocate memory", "not enough memory")
NO_ROOM = ("no space left", "file too large", "quota exceeded")


def explain(error: BaseException, training: bool, folder: str | None = None) -> str | None:
    """What happened and what to do; None for an error that is no fault of the machine.

    `folder` is what was written to where the error does not say it, as when a write fails half-way.
    """
    words = str(error).lower()
    if isinstance(error, MemoryError) or any(text in words for text in NO_MEMORY):
        lower = (
            "lower method.batch_size, method.max_tokens or model.max_length, or take "
            "trainer.precision=bf16-mixed or peft=lora"
            if training
            else "lower batch_size (of encoders), or take model.dtype=bfloat16 or model.device_map=auto"
        )
        return f"out of memory; {lower}"
    if str(error).startswith("Symlink loop from"):  # Python's words until 3.12, in a RuntimeError
        return (
            f"cannot open {str(error).removeprefix('Symlink loop from ')}, a link that leads to itself; "
            "give another path"
        )
    if not isinstance(error, OSError):
        return None
    where, kept = (
        error.filename or folder or "a file",
        "what was whole before is kept, and " if training else "",
    )
    if error.errno in FULL or any(text in words for text in NO_ROOM):
        return (
            f"no room to write {where} ({error.strerror or error}); {kept}the same command goes on when "
            "there is some"
        )
    if error.errno in FORBIDDEN:
        return (
            f"may not write {where} ({error.strerror}); choose another folder with run=, output= or "
            "paths.runs="
        )
    if error.errno in ODD and error.filename:
        return f"cannot open {_brief(str(error.filename))} ({error.strerror}); give another path"
    return None


def _brief(path: str) -> str:
    return path if len(path) <= 200 else f"{path[:60]}… ({len(path)} characters)"
