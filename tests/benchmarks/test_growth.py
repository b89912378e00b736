"""The exponents of growth, and the file that keeps earlier rows."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import growth


def row(what: str, items: int, cpu: float, **more: Any) -> growth.Row:
    return {"what": what, "items": items, "CPU (s)": cpu, "memory (MB)": 100.0, "command": what, **more}


def test_exponents_are_slopes_of_logarithms() -> None:
    rows = [row("train", items, (items / 1000) ** 0.5) for items in (1000, 4000, 16000)]
    rows += [row("compare", 1000, several**2 / 10, systems=several) for several in (10, 100)]
    rows.append(row("compare", 1000, 2.0, systems=2))
    rows.append(row("compare", 10_000, 20.0, systems=2))
    found = {(each["what"], each["of"]): each["CPU (s)"] for each in growth.exponents(rows)}
    assert found == {
        ("train", "items, 1,000 to 16,000"): "0.50",
        ("compare", "systems, 10 to 100"): "2.00",
        ("compare", "items, 1,000 to 10,000"): "1.00",
    }


def test_rows_that_are_not_measured_again_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = row("train", 1000, 1.25, lines=17, recorded="earlier")
    growth.save(tmp_path / "growth.csv", [old])
    before = (tmp_path / "growth.csv").read_text(encoding="utf-8").splitlines()
    assert ",".join(map(str, (1000, 17, 1.25))) in before[1]
    monkeypatch.setattr(growth, "measured", lambda *_: iter([row("train", 4000, 5.0, lines=17)]))
    monkeypatch.setattr("sys.argv", ["growth", str(tmp_path), "--what", "train"])
    growth.main()
    after = (tmp_path / "growth.csv").read_text(encoding="utf-8").splitlines()
    assert after[:2] == before
    assert after[2].startswith("train,4000,17,5.00,100.00,train,0,")
    fitted = (tmp_path / "growth_exponents.csv").read_text(encoding="utf-8").splitlines()
    assert fitted[1].startswith('train,"items, 1,000 to 4,000",1.00,1.00,0.00,0.00,train,')
