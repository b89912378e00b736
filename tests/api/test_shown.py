"""How results show themselves, as text and as HTML."""

import figlang
from tests.api.rows import predictions


def test_results_show_themselves_escaped() -> None:
    own = predictions(2, "<b>bold</b>")
    metrics, compared = figlang.measure(own), figlang.compare(own, predictions(3, "b"))
    for result in (own, metrics, compared):
        assert "&lt;b&gt;bold" in result._repr_html_() or result is compared
        assert "<b>" not in result._repr_html_()
        assert "<b>bold</b>" in repr(result) or result is compared
    assert "accuracy" in repr(metrics)
    assert "pair accuracy" in metrics._repr_html_()
    assert max(map(len, repr(own).splitlines())) <= 100
