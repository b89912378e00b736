"""Files of one's own in the form of Fig-QA, as a task."""

from figlang.tasks import registry


def test_numbers_on_fig_qa_are_not_shown_beside_other_items() -> None:
    """A file of one's own in Fig-QA's form has none; a copy of Fig-QA's own file has those of that file."""
    content = {"data_name": "mine", "split": "validation", "published_file": False}
    assert registry.task("figqa_csv").published(content) == ()
    compared = registry.task("figqa_csv").published(content | {"published_file": True})
    assert any(one.comparable for one in compared)
