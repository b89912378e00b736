"""MUNCH's Table 1 and Figures 3 and 8 (Tong et al. 2024): properties of its sentences and candidates."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from figlang.config import DataConfig
from figlang.config.section import option
from figlang.config.verbs.reproduce import ReproduceConfig
from figlang.errors import FiglangError
from figlang.files.sources import sha256
from figlang.statistics.clustered import Array
from figlang.tables import Table
from figlang.tasks.grid import Embeddings, Figures, Overview
from figlang.tasks.munch import figure, overview, similarity, vectors
from figlang.types import Item, Marked, Split


@dataclass
class FiguresConfig(ReproduceConfig):
    """MUNCH's Table 1 and Figures 3 and 8: genres, parts of speech and novelty of its sentences, similarity
    of its candidates."""

    kept_as: ClassVar[str | None] = "figures"

    vectors: str | None = option(
        None,
        "Static vectors for Figure 3: a GloVe text file (.txt, .vec, .gz), a .bin file of word2vec, a file "
        "of gensim (with allow_pickle=true), or `model`, the input embeddings of model= or checkpoint=. "
        "null: no Figure 3.",
    )
    lower: bool = option(True, "Look up words in lower case, as GloVe has them.")
    allow_pickle: bool = option(
        False, "Also read vectors that gensim saved: a pickle, which can run any code of its author."
    )

    @property
    def opens_model(self) -> bool:
        return self.vectors == "model"


class MunchFigures(Figures[FiguresConfig]):
    """Tables and figures of MUNCH's sentences and candidates."""

    table = "munch_figures"
    heading = "MUNCH, its sentences and candidates"
    options = FiguresConfig
    presets: ClassVar[Mapping[str, str | None]] = {"data": "munch"}

    def __init__(self, config: FiguresConfig) -> None:
        super().__init__(config)
        if config.data.dataset != "munch":
            raise FiglangError(f"data={config.data.name} is not MUNCH; use data=munch or data=munch_sample")

    def overview(self, load: Callable[[DataConfig], Split], embeddings: Callable[[], Embeddings]) -> Overview:
        sentences = load(replace(self.config.data, question="generation"))
        judged = load(replace(self.config.data, question="word", limit=None))
        name, facts = "no vectors", dict[str, Any]()
        content = overview.measure(sentences.items)
        triples: list[similarity.Triple] = []
        if self.config.vectors is not None:
            name, facts, known = self._vectors(judged.items, embeddings)
            triples = similarity.triples(judged.items, known, self.config.lower)
            content["similarity"] = similarity.measure(triples)

        def draw(folder: Path) -> None:
            figure.novelty(overview.novelty(sentences.items), folder / "figure8-novelty")
            if triples:
                lines = (json.dumps(asdict(triple), ensure_ascii=False) + "\n" for triple in triples)
                with (folder / "cosines.jsonl").open("w", encoding="utf-8") as file:
                    file.writelines(lines)
                cosines = [triple.cosines for triple in triples if triple.cosines]
                figure.similarity(cosines, name, folder / "figure3-similarity")

        return Overview(name, facts, sentences, content, {"triples": judged}, draw)

    def tables(self, content: Mapping[str, Any]) -> list[Table]:
        return overview.tables(content)

    def below(self, content: Mapping[str, Any]) -> list[str]:
        return [overview.FOOTNOTE, f"signature {content['signature']}"]

    def _vectors(
        self, items: Sequence[Item], embeddings: Callable[[], Embeddings]
    ) -> tuple[str, dict[str, Any], dict[str, Array]]:
        """Name, facts and vectors of the words of all triples."""
        lower, source = self.config.lower, str(self.config.vectors)
        marked = [item for item in items if isinstance(item, Marked)]
        wanted = {
            word.lower() if lower else word for item in marked for word in (item.word, *item.options[:2])
        }
        if source != "model":
            path = Path(source).expanduser()
            known = vectors.load(path, wanted, self.config.allow_pickle)
            return path.name, {"vectors": f"{path.name}@{sha256(path)[:8]}", "lower": lower}, known
        model = embeddings()
        # With the space before it, as a word stands in a sentence.
        known = vectors.embedded(wanted, model.matrix, lambda word: model.pieces(f" {word}"))
        return f"{model.name}'s input embeddings", {"vectors": model.base, "lower": lower}, known
