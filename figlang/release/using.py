"""Lines of Python by which others load an export and score with it, with nothing but plain transformers and
peft."""

import json
import re
from pathlib import Path

from figlang.files.sources import PACKAGE
from figlang.models import gguf
from figlang.models.adapters import OWN
from figlang.models.manifest import Manifest
from figlang.models.weights import address
from figlang.types import SentenceVectors

# What comes before the lines of a format, so that they run as they are printed. `{quiet}` is for libraries
# that would print while they load.
BEGIN = """from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()
folder = "."  # the folder of this card
metaphor = "Her voice was velvet."
answer1, answer2 = "Her voice was soft.", "Her voice was rough."
"""
END = "print(dict(zip((answer1, answer2), scores.tolist())))"
PROGRESS = """import os

os.environ["TQDM_DISABLE"] = "1"  # no progress lines
"""
WARNINGS = """import warnings

warnings.simplefilter("ignore", FutureWarning)  # of peft, about a name in transformers
"""
LOAD = {
    "pair": """from transformers import AutoModelForMultipleChoice, AutoTokenizer

network = AutoModelForMultipleChoice.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer([metaphor, metaphor], [answer1, answer2], padding=True, return_tensors="pt")
scores = network(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0]""",
    "joint": """from transformers import AutoModelForSequenceClassification, AutoTokenizer

network = AutoModelForSequenceClassification.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
first, second = sorted([answer1, answer2])  # options enter in alphabetical order
between = tokenizer.sep_token or tokenizer.eos_token
scores = network(**tokenizer(metaphor, f"{first} {between} {second}", return_tensors="pt")).logits[0]
scores = scores if first == answer1 else scores.flip(0)""",
    "dual": """{imports}from torch.nn.functional import cosine_similarity
from transformers import AutoModel, AutoTokenizer

network = AutoModel.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer({sentences}, padding=True, return_tensors="pt")
mask = inputs["attention_mask"][..., None]
vectors = {vectors}
scores = {scale:g} * {similarity}""",
    "nli": """from transformers import AutoModelForSequenceClassification, AutoTokenizer

network = AutoModelForSequenceClassification.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer([metaphor, metaphor], [answer1, answer2], padding=True, return_tensors="pt")
classes = {name: index for index, name in network.config.id2label.items()}
chances = network(**inputs).logits.softmax(-1)
scores = chances[:, classes["entailment"]] - chances[:, classes["contradiction"]]""",
    "causal": """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

network = AutoModelForCausalLM.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
first = {bos}  # the token before every string


def score(before, string):  # of a string after what stands before it
    ids = first + tokenizer(before + string, add_special_tokens=False).input_ids
    start = {start}
    log_probs = network(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
    log_probs = log_probs.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return {score}


scores = torch.stack([{stacked} for answer in (answer1, answer2)])""",
}
NORMED = {
    "sum": "log_probs[start:].sum()",
    "mean": "log_probs[start:].mean()",
    "byte": "log_probs[start:].sum() / len(string.encode())",
}
POOLED = {
    "cls": "states[:, 0]",
    "max": "states.masked_fill(mask == 0, -torch.inf).amax(1)",
    "mean": "(states * mask).sum(1) / mask.sum(1)",
    "mean_sqrt_len_tokens": "(states * mask).sum(1) / mask.sum(1).sqrt()",
    "weightedmean": "(states * mask * mask.cumsum(1)).sum(1) / (mask * mask.cumsum(1)).sum(1)",
    "lasttoken": "states[torch.arange(3), mask.sum(1)[:, 0] - 1]",
}


def lines(manifest: Manifest) -> str:
    """The lines by which plain transformers scores with the export. They run as they are printed.

    Args:
        manifest: The manifest of the export.

    Returns:
        Python that scores two answers, and prints the scores.
    """
    filled = {"{scale:g}": f"{manifest.scale:g}", **_vectors(manifest.sentence_vectors), **_strings(manifest)}
    text = LOAD[manifest.format]
    for name, value in filled.items():
        text = text.replace(name, value)
    if manifest.base_sha256 is not None:
        text = _over_base(text, manifest)
    return _whole(text, manifest)


def use(manifest: Manifest) -> str:
    """The lines by which figlang scores with the export.

    Args:
        manifest: The manifest of the export.
    """
    called = "scores = model.score(metaphor, [answer1, answer2])"
    if manifest.input_format.classes:
        called = 'scores = model.score(metaphor, [answer1, answer2], scoring="nli")'
    begin = BEGIN[BEGIN.index("folder =") :]
    return f"import figlang\n\n{begin}\nmodel = figlang.open_model(folder)\n{called}\nprint(scores.text)"


def _whole(text: str, manifest: Manifest) -> str:
    """Lines with what they need before and behind them. Imports stand together, below what silences them."""
    imports, _, body = text.partition("\n\nbase =" if "\n\nbase =" in text else "\n\nnetwork =")
    body = text[len(imports) :].lstrip("\n")
    below, adapted = BEGIN.split("\n\n", 1), manifest.base_sha256 is not None
    quiet = PROGRESS if adapted and gguf.is_gguf(manifest.base) else ""
    quiet += WARNINGS if adapted else ""
    if quiet:
        named = [line for line in quiet.splitlines() if line.startswith("import ")]
        done = [line for line in quiet.splitlines() if line and not line.startswith("import ")]
        quiet = "\n".join([*named, "", *done, "", ""])
    return f"{quiet}{imports}\n{below[0]}\n\n{below[1]}\n{body}\n{END}"


def _strings(manifest: Manifest) -> dict[str, str]:
    """How the log-probabilities of a causal model become scores, as text for its lines."""
    if manifest.scoring is None:
        return {}
    scoring = manifest.scoring
    bos = {"none": "[]", "add": "[tokenizer.bos_token_id]"}.get(manifest.bos, f"[{manifest.bos}]")
    before, end = scoring["template"].split("{answer}")
    first, after = before.rstrip(), _quoted(end)
    whole = scoring["span"] == "whole"
    texts = (
        f'"", f"{_quoted(before)}{{answer}}{after}"'
        if whole
        else f'f"{_quoted(first)}", f"{_quoted(before[len(first) :])}{{answer}}{after}"'
    )
    alone = f' - score("", f"{{answer}}{after}")' if scoring["minus_alone"] else ""
    return {
        "{bos}": bos,
        "{stacked}": f"score({texts}){alone}",
        "{start}": "max(len(first), 1) - 1"
        if whole
        else "len(first + tokenizer(before, add_special_tokens=False).input_ids) - 1",
        "{score}": NORMED[scoring["norm"]],
    }


def _quoted(text: str) -> str:
    """A text between quotation marks of Python, whose escapes are those of JSON too."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _vectors(vectors: SentenceVectors) -> dict[str, str]:
    """How a dual encoder makes vectors of sentences, as text for the lines of its format."""
    sentence = "sentence.lower()" if vectors.lower else "sentence"
    prompted = (
        f"{vectors.prompt!r}{'.lower()' if vectors.lower else ''} + {sentence}"
        if vectors.prompt
        else sentence
    )
    states = "network(**inputs).last_hidden_state"
    parts = [POOLED[mode].replace("states", states) for mode in vectors.pooling]
    return {
        "{imports}": "import torch\n" if any("torch." in part for part in parts) or len(parts) > 1 else "",
        "{sentences}": "[metaphor, answer1, answer2]"
        if prompted == "sentence"
        else f"[{prompted} for sentence in (metaphor, answer1, answer2)]",
        "{vectors}": parts[0] if len(parts) == 1 else f"torch.cat([{', '.join(parts)}], dim=-1)",
        "{similarity}": "cosine_similarity(vectors[:1], vectors[1:])"
        if vectors.similarity == "cosine"
        else "(vectors[:1] * vectors[1:]).sum(-1)",
    }


# transformers rounds the weights of a folder to 4 bits, and not those of a GGUF file.
IN_A_FOLDER = """\
stored = AutoModelForCausalLM.from_pretrained({source}, dtype="{dtype}")
del stored.config.quantization_config
whole = AutoModelForCausalLM.from_config(stored.config)
whole.load_state_dict(stored.state_dict())
saved = TemporaryDirectory()  # 4 bits are made of a folder, not of a GGUF file
whole.save_pretrained(saved.name)
"""


def _over_base(text: str, manifest: Manifest) -> str:
    """Change lines that load a whole network from `folder` to lines that lay adapters over their network."""
    base, _, revision = manifest.base.partition("@")
    imports, (dtype, _, bits) = "from peft import PeftModel\n", str(manifest.base_precision).partition("+")
    inside = Path(base).name if gguf.is_gguf(base) else ""
    if base.startswith("random:"):
        where = f'f"{{folder}}/{OWN}"'
    elif Path(base).is_absolute():  # a place on this machine, which the folder names and the card does not
        imports = "from peft import PeftConfig, PeftModel\n"
        where = "PeftConfig.from_pretrained(folder).base_model_name_or_path"
        where, imports = (
            (f"dirname({where})", f"from os.path import dirname\n\n{imports}") if inside else (where, imports)
        )
    elif base.startswith(PACKAGE):
        # It is found but not imported: a package with weights may need libraries that are not needed here.
        module, _, path = base.removeprefix(PACKAGE).partition("/")
        path = path.removesuffix(inside).rstrip("/")
        imports = f"from importlib.util import find_spec\n\n{imports}"
        where = f'find_spec("{module}").submodule_search_locations[0]' + (f' + "/{path}"' if path else "")
    else:
        # A hub id stays as it is: a card is written without asking the hub.
        named = address(base) if Path(base).is_dir() else base
        where = f'"{Path(base).parent if inside else named}"'
    source = ", ".join(
        [
            "base",
            *([f'gguf_file="{inside}"'] if inside else []),
            *([f'revision="{revision}"'] if revision else []),
        ]
    )
    needed = {}
    if manifest.input_format.counted:
        needed["AutoConfig"] = "config=AutoConfig.from_pretrained(folder)"
    if bits:
        needed["BitsAndBytesConfig"] = (
            'quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")'
        )
    arguments = [source, f'dtype="{dtype}"', *needed.values()]
    before = f"base = {where}\n"
    if bits and inside:
        imports = f"from tempfile import TemporaryDirectory\n\n{imports}"
        before += IN_A_FOLDER.format(source=source, dtype=dtype)
        arguments[0] = "saved.name"
    text = text.replace("network = ", f"{before}network = ", 1)
    text = text.replace("AutoTokenizer.from_pretrained(folder)", f"AutoTokenizer.from_pretrained({source})")
    text = text.replace(
        "from transformers import ", "from transformers import " + "".join(f"{name}, " for name in needed), 1
    )
    text = re.sub(
        r"(AutoModel\w*)\.from_pretrained\(folder\)",
        lambda match: (
            f"PeftModel.from_pretrained({match[1]}.from_pretrained({', '.join(arguments)}), folder)"
        ),
        text,
    )
    if manifest.method.endswith("+prompt_tuning"):  # the logits of the prompt come first
        text = text.replace(".logits[0, :-1]", ".logits[0, -len(ids) : -1]")
    return f"{imports}{text}"
