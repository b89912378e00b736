"""The lines of a card by which plain transformers scores."""

import ast

import pytest

from figlang.config import ModelConfig, ScoringConfig
from figlang.config.groups.scoring import NORMS
from figlang.models.checkpoint import causal_manifest
from figlang.release import using

SAID = {"metaphor": "Her voice was velvet.", "answer": "Her voice was soft."}


@pytest.mark.parametrize("span", ["whole", "answer"])
@pytest.mark.parametrize(
    "template",
    [
        "{metaphor} {answer}",
        '"{metaphor}" means: "{answer}"',
        "{metaphor}\nThat is to say:\t{answer}\n",
        "{metaphor} \\ {answer}\\",
        "‘{metaphor}’ heißt {answer}",
    ],
)
def test_any_template_is_a_text_of_python(template: str, span: str) -> None:
    scoring = ScoringConfig(name="own", template=template, span=span, minus_alone=True)
    manifest = causal_manifest(ModelConfig(name="m", name_or_path="org/m"), scoring, "0", "contrastive")
    calls = [
        node
        for node in ast.walk(ast.parse(using.lines(manifest)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "score"
    ]
    scored, alone = sorted(
        ("".join(eval(ast.unparse(text), dict(SAID)) for text in call.args) for call in calls),
        key=len,
        reverse=True,
    )
    assert scored == template.format(**SAID)
    assert alone == SAID["answer"] + template.partition("{answer}")[2]


@pytest.mark.parametrize("norm", NORMS)
def test_the_lines_divide_by_what_the_norm_divides_by(norm: str) -> None:
    class Log(list[float]):
        sum, mean = (lambda self: sum(self)), (lambda self: sum(self) / len(self))

        def __getitem__(self, place: object) -> "Log":
            return self

    said = {"log_probs": Log([-1.0, -2.0]), "start": 0, "string": "süß"}
    assert eval(using.NORMED[norm], said) == -3.0 / NORMS[norm](2, 5)
