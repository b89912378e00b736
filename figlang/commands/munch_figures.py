"""MUNCH's Table 1 and Figures 3 and 8: what its sentences and candidates are like
(`vectors=glove.6B.300d.txt`)."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from figlang import tables
from figlang.config import MunchFiguresConfig
from figlang.config.entry import entry
from figlang.errors import FiglangError
from figlang.evaluation import runtime
from figlang.files.sources import sha256
from figlang.files.whole import write_text
from figlang.models import checkpoint
from figlang.runs import outputs, results
from figlang.statistics.clustered import Array
from figlang.tasks import registry as data
from figlang.tasks.munch import figure, overview, similarity, vectors
from figlang.types import Item, Judgement


@entry("munch_figures")
def main(config: MunchFiguresConfig) -> None:
    if config.data.dataset != "munch":
        raise FiglangError(f"data={config.data.name} is not MUNCH; use data=munch or data=munch_sample")
    runtime.start(config.seed, config.trainer)
    sentences = data.load(config.split, replace(config.data, question="generation"), config.paths)
    judged = data.load(config.split, replace(config.data, question="word", limit=None), config.paths)
    runtime.log_notes(sentences.notes)
    name, facts = "no vectors", dict[str, str | bool]()
    content = overview.measure(sentences.items)
    rows: list[similarity.Triple] = []
    if config.vectors is not None:
        name, facts, found = _vectors(config, judged.items)
        rows = similarity.triples(judged.items, found, config.lower)
        content["similarity"] = similarity.measure(rows)
    evaluated = results.Evaluated(name, facts, sentences, config.split, config.data.name, config.seed)
    wanted = outputs.decided_by(config, sentences, facts)
    content = (
        evaluated.about()
        | content
        | {"triples": results.describe(judged), "notes": list(sentences.notes), "decided_by": wanted}
    )
    made, below = overview.tables(content), [overview.FOOTNOTE, f"signature {content['signature']}"]
    with outputs.result(config, wanted) as new:
        figure.novelty(overview.novelty(sentences.items), new / "figure8-novelty")
        if rows:
            with (new / "cosines.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
            figure.similarity([row.cosines for row in rows if row.cosines], name, new / "figure3-similarity")
        write_text(new / "tables.md", tables.document("MUNCH, its sentences and candidates", made, below))
        tables.write(made, new / "tables")
        results.write(new / "metrics.json", content)
    tables.show(made, below, Console())
    Console().print(
        str(outputs.place(config)), style="bold", soft_wrap=True, highlight=False, markup=False, emoji=False
    )


def _vectors(
    config: MunchFiguresConfig, items: tuple[Item, ...]
) -> tuple[str, dict[str, str | bool], dict[str, Array]]:
    """Name, facts and vectors of the words of all triples."""
    marked = [item for item in items if isinstance(item, Judgement)]
    words = {
        word.lower() if config.lower else word for item in marked for word in (item.word, *item.options[:2])
    }
    if config.vectors != "model":
        path = Path(str(config.vectors)).expanduser()
        found = vectors.load(path, words, config.allow_pickle)
        return path.name, {"vectors": f"{path.name}@{sha256(path)[:8]}", "lower": config.lower}, found
    loaded = checkpoint.local(checkpoint.named_by(config))
    known = loaded.tokenizer
    matrix = loaded.network.get_input_embeddings().weight.detach().float().numpy()
    # With the space before it, as a word stands in a sentence.
    found = vectors.embedded(
        words, matrix, lambda word: known(f" {word}", add_special_tokens=False)["input_ids"]
    )
    return (
        f"{loaded.manifest.name}'s input embeddings",
        {"vectors": loaded.manifest.base, "lower": config.lower},
        found,
    )


if __name__ == "__main__":
    main()
