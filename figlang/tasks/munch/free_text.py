"""How people say why a model's word is not among those that people gave (Tong et al. 2024, §8)."""

from figlang.tasks.open import SUBSTITUTION
from figlang.tasks.scales import Rubric, Scale, categories

RUBRIC = Rubric(
    "A word in a sentence stands between asterisks, and a writer put another word in its place. People would "
    "have used the words behind the sentence. Say what is wrong with the writer's word.",
    "Sentence",
    "Word in its place",
    {
        "nonsensical": "the sentence makes no sense with it",
        "context": "it fits the word alone, but not what the word means in this sentence",
        "ungrammatical": "it does not fit the grammar of the sentence",
        "preference": "nothing is wrong with it; people prefer another word",
    },
)
# `context`: the context is not understood.
SCALE = Scale(
    "munch",
    {"nonsensical": 1, "context": 2, "ungrammatical": 3, "preference": 4},
    categories,
    kinds={SUBSTITUTION: ""},
    rubric=RUBRIC,
)
