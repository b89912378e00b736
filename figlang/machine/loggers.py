"""The libraries whose loggers an evaluation quietens."""

LIBRARIES = (
    "pytorch_lightning",
    "lightning",
    "transformers",
    "datasets",
    "httpx",
    "httpx2",
    "openai",
    "bitsandbytes",
)
