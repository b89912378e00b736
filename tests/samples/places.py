"""The folder of the bundled samples."""

from figlang.files.sources import package_path

SOURCE = "package:figlang/samples"
SAMPLES = package_path(SOURCE)
