"""What a judge said is written without secrets."""

from pathlib import Path

from figlang.rating import judges
from figlang.tasks.scales import Verdict
from figlang.types import Generation

KEY = "sk-" + "a1B2" * 8


def test_no_file_of_a_judge_holds_a_key(tmp_path: Path) -> None:
    answer = Generation("i1", "g1", "open", 0, "What does it mean?", f"It is {KEY}.", f"It is {KEY}.")
    judges.write(tmp_path, [Verdict("a", "yes", {"yes": 1.0}, [{"answer": KEY}])], {"a": answer})
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(written) == {judges.FILE, judges.SHEET}
    assert not [name for name, text in written.items() if KEY in text]
    assert written[judges.SHEET].splitlines()[1].startswith("a,What does it mean?,It is ")
