"""The share of a process: rows stand with the positions of their items, whatever their ids are."""

from figlang.evaluation.how import Placed, Share
from figlang.tasks.munch.questions import Blanks, Judgements
from figlang.tasks.questions import Questions
from figlang.types import Item, Split

ITEMS = tuple(Item(name, name, "c", ("x", "y"), 0) for name in ("a", "a/1", "b"))


def test_a_row_is_placed_by_the_item_that_it_is_of() -> None:
    share = Share(Split("own", ITEMS, "here", "0"), [0, 1])
    assert share.place(["first", "second"]) == Placed([0, 1], ["first", "second"])
    # The derived id of the first item's row is the id of the second item.
    assert share.place(["a/1", "a/1/0"], ["a", "a/1"]) == Placed([0, 1], ["a/1", "a/1/0"])


def test_the_task_and_its_question_say_how_items_are_put_in_words() -> None:
    kinds = {
        (task, question): type(
            Share(Split("own", ITEMS, "here", "0", task=task, question=question), [0]).questions
        )
        for task, question in (("munch", "word"), ("munch", "generation"), ("munch", "paraphrase"), ("", ""))
    }
    assert list(kinds.values()) == [Judgements, Blanks, Questions, Questions]
