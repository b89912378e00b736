"""The same invented items, written in every form of file."""

import csv
import json
from pathlib import Path
from typing import Any

from figlang.config import ColumnsConfig, DataConfig, PathsConfig
from figlang.tasks import registry
from figlang.types import Item, Split

FRASES = (
    ("Está en las nubes", ("Está distraído.", "Vuela.", "Está enfadado.", "Viaja en avión."), 0, "modismo"),
    ("Tiene un corazón de oro", ("Es rico.", "Es muy bueno.", "Está enfermo.", "Es joyero."), 1, "metáfora"),
    ("Metió la pata en la reunión", ("Se cayó.", "Corrió.", "Cometió un error.", "Calló."), 2, "modismo"),
    ("Sus palabras eran cuchillos", ("Cocinaba.", "Callaba.", "Cantaba.", "Hacían daño."), 3, "metáfora"),
    ("Su voz era terciopelo, suave", ("Era grata.", "Era fea.", "Era azul.", "Era cara."), 0, "metáfora"),
)
FORMS = ("csv", "tsv", "jsonl", "json", "parquet")
LETTERS = "ABCD"
NAMED = ColumnsConfig(
    context="frase", options=["op1", "op2", "op3", "op4"], gold="respuesta", attributes=["tipo"], id="clave"
)


def rows(gold: str = "number") -> list[dict[str, Any]]:
    """The items as rows with a column for each option."""
    told = {
        "number": lambda options, place: place,
        "letter": lambda options, place: LETTERS[place],
        "text": lambda options, place: options[place],
    }[gold]
    return [
        {
            "clave": f"f{number}",
            "frase": frase,
            **{f"op{place + 1}": option for place, option in enumerate(options)},
            "respuesta": told(options, right),
            "tipo": kind,
        }
        for number, (frase, options, right, kind) in enumerate(FRASES, start=1)
    ]


def write(path: Path, content: list[dict[str, Any]]) -> Path:
    """Write rows in the form that the ending of the path names."""
    form = path.suffix.removeprefix(".")
    if form in ("csv", "tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(content[0]), delimiter="," if form == "csv" else "\t")
            writer.writeheader()
            writer.writerows(content)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    elif form == "json":
        path.write_text(json.dumps(content), encoding="utf-8")
    else:
        from pyarrow import Table
        from pyarrow.parquet import write_table

        write_table(Table.from_pylist(content), path)
    return path


def load(file: Path | str, split: str = "validation", **settings: Any) -> Split:
    """The split of a file by `data=own`."""
    return registry.load(
        split, DataConfig(name="own", dataset="own", file=str(file), **settings), PathsConfig()
    )


EXPECTED = tuple(
    Item(f"f{number}", f"f{number}", frase, options, right, {"tipo": (kind,)}, paired=False)
    for number, (frase, options, right, kind) in enumerate(FRASES, start=1)
)
