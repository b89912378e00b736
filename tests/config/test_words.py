"""Words of a command line that become other words before Hydra reads them."""

import pytest

from figlang.config.roots import ROOTS
from figlang.config.words import readable
from figlang.errors import FiglangError


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["--rename", "MiniLM=Mini"], ["rename=['MiniLM=Mini']"]),
        (["--rename=MiniLM=Mini"], ["rename=['MiniLM=Mini']"]),
        (["--rename", "A=B", "rename=C=D"], ["rename=['A=B','C=D']"]),
    ],
)
@pytest.mark.parametrize("verb", ["compare", "report"])
def test_a_new_name_is_taken_as_a_flag_too(verb: str, given: list[str], wanted: list[str]) -> None:
    assert readable(ROOTS[verb], given) == wanted


def test_shared_items_are_asked_for_by_a_flag_too() -> None:
    assert readable(ROOTS["compare"], ["--common", "one", "two"]) == ["common=true", "runs=[one,two]"]


def test_other_verbs_explain_the_flag() -> None:
    with pytest.raises(FiglangError, match="arguments have no dashes: write rename=A=B"):
        readable(ROOTS["evaluate"], ["--rename=A=B"])
