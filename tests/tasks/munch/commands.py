"""MUNCH's commands on the bundled sample."""

TINY = ["model=causal", "model.bos=add", "trainer=cpu", "trainer.progress=false"]
SAMPLE = ["data.root=package:figlang/samples", "data.limit=6"]
