"""The examples of `--help`: words behind the verb. Each of them composes, which a test checks."""

from collections.abc import Mapping

_TRAINED = "checkpoint=runs/minilm/seed0"
_TWO = "runs/minilm/seed0 runs/roberta/seed0"

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "train": (
        "model=minilm data=figqa_large",
        "model=roberta data=figqa_medium method.lr=1e-5 seed=1",
        "model=smollm2 data=figqa_large peft=lora",
        "model=FOLDER data=FILE.csv data.validation=FILE.csv",
        "-m model=minilm seed=0,1,2,3,4",
    ),
    "evaluate": (
        "model=smollm2 data=figqa_medium scoring=pmi",
        f"{_TRAINED} data=miqa",
        "checkpoint=checkpoints/minilm-figqa-large data.limit=10",
        "model=ORG/NAME data=FILE.csv split=test",
        "model=served model.endpoint=http://host/v1 model.name=NAME",
    ),
    "transfer": (
        "checkpoint=runs/a/seed0,runs/b/seed0 data=figqa_medium,miqa",
        "checkpoint=runs/a/seed0 model=minilm data=miqa,winogrande_l",
    ),
    "sensitivity": (
        "model=smollm2 data=miqa protocol=letter data.limit=48",
        "model=smollm2 data=figqa_medium protocol=logprobs",
    ),
    "reproduce": (
        "table=miqa_table3 model=smollm2",
        "table=munch_judge model=smollm2 data=munch_sample",
    ),
    "completion": ("bash",),
    "compare": (_TWO, f"{_TWO} output=tables"),
    "report": ("runs/minilm/seed0", f"{_TWO} output=paper"),
    "sweep": ("runs", "runs/minilm-figqa_medium output=lr"),
    "generate": ("model=smollm2 data=miqa name=answers", "model=gpt2 data=figqa_medium sampling=liu2022"),
    "rate": ("runs=[runs/smollm2/answers]", "ratings=[ann.csv,ben.csv]", "texts=[answers.csv] limit=50"),
    "rate serve": (
        "runs=[runs/smollm2/answers] raters=[ann,ben]",
        "data=figqa_medium limit=200 raters=[ann,ben] checks=5",
        "data=munch_generation ask=paraphrase limit=50 raters=[ann]",
        "folder=runs/ratings export=true",
    ),
    "judge": (
        "folder=runs/smollm2/answers model=smollm2",
        "model=served model.endpoint=http://host/v1 model.name=NAME",
        "folder=ratings ratings=[ann.csv,ben.csv]",
    ),
    "tasks": ("", "task=figqa"),
    "describe": ("data=figqa_medium split=train", "FILE.csv"),
    "contamination": ("data=figqa_large against=[figqa_large,miqa]",),
    "create": (
        "prompts=100 output=prompts",
        "file=prompts/prompts.csv output=mine against=[figqa_large,miqa]",
        "file=items.csv model=smollm2 keep=hard ratings=[people.csv]",
    ),
    "export": (
        "tool=lm_eval data=figqa_medium output=lm_eval_tasks",
        "tool=inspect data=miqa output=inspect_tasks",
    ),
    "models": ("", "kind=causal"),
    "merge": (f"{_TRAINED} output=merged",),
    "average": ("runs/a/seed0 runs/a/seed1 output=runs/a/mean", "runs/a/seed0 start=0.5 output=runs/a/mean"),
    "push": (
        "checkpoints/minilm-figqa repo=ORG/NAME",
        "checkpoints/minilm-figqa repo=ORG/NAME dry_run=false",
    ),
    "release": ("run=runs/minilm/seed0 name=minilm-figqa",),
}
