"""The packages of the wheel. Everything else about the project is in pyproject.toml."""

from setuptools import find_namespace_packages, setup

# The presets are in conf/ at the top of a checkout, where people look for them, and inside the package in a
# wheel. pyproject.toml can say where a package lies, but cannot add one to those that are found.
setup(
    packages=[*find_namespace_packages(include=["figlang*", "hydra_plugins*"]), "figlang.conf"],
    package_dir={"figlang.conf": "conf"},
)
