"""Keys and passwords stay out of everything that is written or said."""

import os
import re

# Names under which the environment carries secrets: WANDB_API_KEY, HF_TOKEN, AWS_SECRET_ACCESS_KEY …
_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_IN_ADDRESS = re.compile(r"(\w+://)[^/\s:@]*:[^/\s@]+@")
SHORTEST = 8  # shorter values would be found in innocent words


def redacted(text: str) -> str:
    """The text with values of secret environment variables and passwords in addresses replaced by what they are."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and _NAMES.search(name.upper()):
            text = text.replace(value, f"<{name}>")
    return _IN_ADDRESS.sub(r"\1<password>@", text)
