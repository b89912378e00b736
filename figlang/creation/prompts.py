"""Prompts for writers: a table that they fill in, and what they are asked to do."""

import csv
from pathlib import Path

from figlang.creation import frames
from figlang.errors import FiglangError
from figlang.files import folders, ownership
from figlang.files.whole import whole_file, write_text
from figlang.tables import cell_of_csv

KIND = "prompts for writers"
SHEET, GUIDE = "prompts.csv", "instructions.md"
# What a writer fills in, in pairs: each metaphor with what it means.
METAPHORS, MEANINGS = ("metaphor1", "metaphor2"), ("meaning1", "meaning2")
COLUMNS = ("id", "frame", "writer", "metaphor1", "meaning1", "metaphor2", "meaning2")
TEXT = """# For writers

Each row of `prompts.csv` has a frame, which is the beginning of a sentence. Write two metaphors and
two meanings:

1. `metaphor1`: a whole sentence that begins with the frame. Finish it with an image.
2. `meaning1`: what this sentence says, in plain words.
3. `metaphor2`: the same beginning with another image, so that it says the opposite.
4. `meaning2`: what the second sentence says, in plain words.

- A reader who knows both images should see which meaning belongs to which metaphor.
- Without the metaphors nobody should be able to tell the two meanings apart: make them equally long and
  equally plain, and do not repeat the image in them.
- Use images of your own. Do not use fixed sayings or sentences from elsewhere.
- You may change small words of the frame if your language needs it.
- Put your pseudonym into `writer`. Leave a row blank if you have no idea for it.
"""


def write(count: int, seed: int, folder: Path) -> None:
    """Write the table and the instructions.

    Args:
        count: Number of prompts.
        seed: Seed of the frames. It is part of the ids, so that tables of several seeds can be joined.
        folder: Where they are written.

    Raises:
        FiglangError: The folder has a table that was filled in, or another kind of result.
    """
    with folders.locked(folder, kind=KIND):
        if (folder / SHEET).exists() and not ownership.is_as_written(folder, SHEET):
            raise FiglangError(
                f"{folder / SHEET} was changed since it was made, perhaps by writers; choose another folder "
                "with output=DIR"
            )
        width = len(str(count))
        with folders.staged(folder, KIND) as new:
            with whole_file(new / SHEET) as beside, beside.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                for number, frame in enumerate(frames.drawn(count, seed), start=1):
                    name = f"s{seed}-{number:0{width}}"
                    writer.writerow([name, cell_of_csv(frame), *[""] * (len(COLUMNS) - 2)])
            write_text(new / GUIDE, TEXT)
