"""The packages and the registry's page of the wheel. Everything else is in pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import find_namespace_packages, setup

FOLDER = Path(__file__).parent
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# [text](place) and ![text](place), where the place has no scheme: a file of the project or a heading.
RELATIVE = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\]\([^()]*\))*)\]\((?![a-z]+:)([^()\s]*)\)")


def page(readme: str, repository: str | None) -> str:
    """The README as a registry shows it, where files of the project are not beside it.

    Links lead into the repository. If pyproject.toml has no address of it, their texts stay and pictures go.
    """

    def linked(found: re.Match[str]) -> str:
        picture, text, place = found.groups()
        text = RELATIVE.sub(linked, text)
        if repository is None or place.startswith("#"):
            return "" if picture else text
        return f"{picture}[{text}]({repository}/{'raw' if picture else 'blob'}/HEAD/{place})"

    return RELATIVE.sub(linked, readme)


# The presets are in conf/ at the top of a checkout, where people look for them, and inside the package in a
# wheel. pyproject.toml can say where a package lies, but cannot add one to those that are found.
setup(
    packages=[*find_namespace_packages(include=["figlang*", "hydra_plugins*"]), "figlang.conf"],
    package_dir={"figlang.conf": "conf"},
    long_description=page(
        (FOLDER / "README.md").read_text(encoding="utf-8"), PROJECT.get("urls", {}).get("Repository")
    ),
    long_description_content_type="text/markdown",
)
