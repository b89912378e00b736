"""Members of a ZIP archive. inspect_ai compresses its logs by Zstandard, which `zipfile` reads from Python
3.14 on."""

import zlib
from lzma import LZMAError
from struct import unpack
from zipfile import BadZipFile, ZipFile, ZipInfo

ZSTANDARD = 93  # the number of the method in a ZIP archive
LOCAL = 30  # bytes of a local header before the name
LARGEST = 1 << 28  # bytes of a member: a few kilobytes of an archive can become gigabytes of memory


def member(archive: ZipFile, name: str) -> bytes:
    """The bytes of a member.

    Args:
        archive: An archive that is open for reading.
        name: The name of the member.

    Raises:
        KeyError: There is no such member.
        BadZipFile: Its bytes are damaged.
    """
    info = archive.getinfo(name)
    if info.file_size > LARGEST:
        raise BadZipFile(f"{name} is larger than {LARGEST} bytes")
    if info.compress_type == ZSTANDARD:
        return _zstandard(archive, info)
    try:
        return archive.read(info)
    except (zlib.error, LZMAError, EOFError, RuntimeError) as error:  # damaged, or encrypted
        raise BadZipFile(f"{name} is damaged or encrypted") from error


def _zstandard(archive: ZipFile, info: ZipInfo) -> bytes:
    from pyarrow import ArrowException, BufferReader, CompressedInputStream

    file = archive.fp
    if file is None or info.flag_bits & 0x1:
        raise BadZipFile(f"{info.filename} is closed or encrypted")
    file.seek(info.header_offset)
    header = file.read(LOCAL)
    if len(header) < LOCAL or header[:4] != b"PK\x03\x04":
        raise BadZipFile(f"{info.filename} has no header")
    file.seek(sum(unpack("<2H", header[26:])), 1)
    packed = file.read(info.compress_size)
    try:
        with CompressedInputStream(BufferReader(packed), "zstd") as stream:
            content: bytes = stream.read(info.file_size)
    except (ArrowException, OSError) as error:
        raise BadZipFile(f"{info.filename} is damaged") from error
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise BadZipFile(f"{info.filename} is damaged")
    return content
