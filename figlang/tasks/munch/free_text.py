"""How people say why a model's word is not among those that people gave (Tong et al. 2024, §8)."""

from figlang.tasks.open import SUBSTITUTION
from figlang.tasks.scales import Scale, categories

# `context`: the context is not understood.
SCALE = Scale(
    "munch",
    {"nonsensical": 1, "context": 2, "ungrammatical": 3, "preference": 4},
    categories,
    kinds={SUBSTITUTION: ""},
)
