"""Imported by the process that all attacks are forked from: a command has been composed once, which halves
the rest."""

import gc

from figlang.config import EvaluateConfig, TrainConfig
from figlang.config.composing import compose

for name, schema in (("train", TrainConfig), ("evaluate", EvaluateConfig)):
    compose(name, schema, ["debug=fast"])
gc.collect()
gc.freeze()
