"""Laws of figlang/tasks/prompting.py: what an example may be, and that a draw depends on seed and pair
alone."""

from pathlib import Path

import pytest

from figlang.config import DataConfig, PathsConfig, PromptConfig
from figlang.errors import FiglangError
from figlang.tasks.examples import draw
from figlang.tasks.prompting import pool
from figlang.types import Item

TRAIN = [Item(f"t{n}", f"g{n // 2}", f"metaphor {n}", ("yes", "no"), n % 2) for n in range(20)]
DEV = [Item(f"d{n}", f"e{n // 2}", f"phrase {n}", ("yes", "no"), n % 2) for n in range(6)]
SAMPLE = DataConfig(root="package:figlang/samples")


def worded(item: Item) -> str:
    return f"{item.context}: {item.options[item.gold or 0]}"


def test_nothing_is_shown_by_default() -> None:
    assert draw(DEV, (), worded, PromptConfig()) == dict.fromkeys([item.id for item in DEV], "")
    assert pool(PromptConfig(), SAMPLE, PathsConfig()).examples == ()


def test_examples_are_correct_distinct_and_end_with_the_separator() -> None:
    for text in draw(DEV, TRAIN, worded, PromptConfig(k=5, separator="|")).values():
        shown = text.split("|")
        assert shown.pop() == ""
        assert len(set(shown)) == 5
        assert set(shown) <= {worded(item) for item in TRAIN}


@pytest.mark.parametrize(("per", "draws"), [("split", 1), ("pair", 3), ("item", 6)])
def test_one_draw_per(per: str, draws: int) -> None:
    assert len(set(draw(DEV, TRAIN, worded, PromptConfig(k=6, per=per)).values())) == draws


def test_other_items_and_their_order_change_no_draw() -> None:
    prompt = PromptConfig(k=3)
    whole = draw(DEV, TRAIN, worded, prompt)
    assert draw(DEV[::-1], TRAIN, worded, prompt) == whole
    assert draw(DEV[2:4], TRAIN, worded, prompt) == {item.id: whole[item.id] for item in DEV[2:4]}
    assert draw(DEV, TRAIN, worded, PromptConfig(k=3, seed=1)) != whole


@pytest.mark.parametrize("per", ["pair", "item"])
def test_an_item_never_sees_itself_its_twin_or_its_metaphor(per: str) -> None:
    # Two items are left beside the pair: with k = 2 every one of them has to be shown.
    items = [*TRAIN[:4]]
    copy = Item("copy", "other", "Metaphor 0.", ("yes", "no"), 0)
    shown = draw(items, [*items, copy], worded, PromptConfig(k=2, per=per))
    assert (
        set(shown["t0"].splitlines())
        == set(shown["t1"].splitlines())
        == {worded(item) for item in TRAIN[2:4]}
    )
    assert not any(worded(item) in shown["t2"] for item in TRAIN[2:4])


def test_too_few_examples_are_an_error() -> None:
    with pytest.raises(
        FiglangError, match=r"prompt.k=3 examples are wanted, but .* has only 2 besides .*; lower prompt.k$"
    ):
        draw(TRAIN[:4], TRAIN[:4], worded, PromptConfig(k=3))
    with pytest.raises(FiglangError, match=r"has only 0 besides .* draw with prompt.per=pair"):
        draw(TRAIN, TRAIN, worded, PromptConfig(k=1, per="split"))
    with pytest.raises(FiglangError, match=r"prompt.k=-1 must be at least 0"):
        PromptConfig(k=-1)


def test_the_pool_is_the_training_split_or_a_file(tmp_path: Path) -> None:
    found = pool(PromptConfig(k=1), SAMPLE, PathsConfig())
    assert len(found.examples) > 100
    assert found.source.startswith("train@")
    file = tmp_path / "metaphors.txt"
    file.write_text(
        "\ufeffHe is a rock. Meaning: he is steady.\n\n  Time flies. Meaning: it passes.  \n",
        encoding="utf-8",
    )
    found = pool(PromptConfig(k=1, source=str(file)), SAMPLE, PathsConfig())
    assert found.examples == ("He is a rock. Meaning: he is steady.", "Time flies. Meaning: it passes.")
    assert draw(DEV, found.examples, worded, PromptConfig(k=2, per="split"))["d0"].count("Meaning") == 2


def test_miqa_has_no_other_pool_than_its_rows() -> None:
    with pytest.raises(
        FiglangError, match=r"prompt\.source=mine\.txt is not for MiQA, whose examples are its other rows"
    ):
        pool(
            PromptConfig(k=1, source="mine.txt"),
            DataConfig("miqa_sample", "miqa", root="package:figlang/samples"),
            PathsConfig(),
        )


def test_a_pool_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xfa")
    for name in ("absent.txt", "bad.txt"):
        with pytest.raises(FiglangError, match=r"cannot be read .*; give train or a UTF-8 text file"):
            pool(PromptConfig(k=1, source=str(tmp_path / name)), SAMPLE, PathsConfig())
