"""Laws of figlang/training/preparation.py: the strings of method=lm."""

import pytest

from figlang.config import PromptConfig, ScoringConfig
from figlang.scoring.wording import Wording
from figlang.training.preparation import line
from figlang.types import Item

ITEM = Item(
    "1", "1", "Her word had the strength of I. M. Pei's titanium.", ("Her promises can be believed.", "no"), 0
)


def test_the_legacy_line_is_the_authors() -> None:
    # The authors' script: python-capitalised, which lowers every other letter, and no space between the
    # sentences
    wording = Wording(ScoringConfig(), PromptConfig())
    expected = "Her word had the strength of i. m. pei's titanium.Her promises can be believed."
    assert line(ITEM, "legacy", wording) == expected


@pytest.mark.parametrize("template", ["{metaphor} {answer}", "{metaphor}. {answer}."])
@pytest.mark.parametrize("text", ["clean", "raw"])
def test_every_other_line_is_the_string_that_is_evaluated(template: str, text: str) -> None:
    wording = Wording(ScoringConfig(text=text, template=template), PromptConfig())
    assert line(ITEM, "clean", wording) == wording.whole("", ITEM.context, ITEM.options[0]).continuation
