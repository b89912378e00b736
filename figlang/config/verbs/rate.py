"""The options of `rate` and of `rate serve`."""

import re
from dataclasses import dataclass, field

from figlang.config.data import DataConfig
from figlang.config.groups.trainer import PathsConfig
from figlang.config.section import COUNT, NUMBER, SEED, Command, Range, option, words
from figlang.errors import FiglangError

PORT = Range(least=0, most=65535)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
RATER = re.compile(r"[\w.-]{1,64}", re.ASCII)  # also the ids of Prolific


@dataclass
class SheetConfig(Command):
    """The answers that people rate, and the folder of their sheet."""

    folder: str = option("runs/ratings", "Folder of the sheet.")
    runs: list[str] = words(
        "Folders of answers to rate, from `figlang generate`; or folders of ranked words, from `figlang "
        "reproduce`. People then give each word that no person wrote a category of error."
    )
    texts: list[str] = words(
        "CSV or JSONL files of answers that were written elsewhere. The columns model, item, group and kind "
        "are optional."
    )
    scale: str | None = option(
        None, "texts: the scale of the ratings. null: correct, incorrect, literal, ambiguous."
    )
    prompt_column: str = option("prompt", "texts: the column of the question.")
    answer_column: str = option("answer", "texts: the column of the answer that is rated.")
    limit: int | None = option(
        None, "Number of questions on the sheet, drawn with `seed`. null: all questions.", within=COUNT
    )
    paths: PathsConfig = field(default_factory=PathsConfig)
    seed: int = option(0, "Seed of the order of the sheet and of the questions on it.", within=SEED)


@dataclass
class RateConfig(SheetConfig):
    """Make a sheet on which people rate the answers in `runs` or `texts`, or evaluate the filled-in sheets in
    `ratings`."""

    ratings: list[str] = words("Filled-in sheets, one for each rater.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.runs or self.texts) == bool(self.ratings):
            raise FiglangError(
                "give runs=[FOLDER,…] or texts=[FILE,…] to make a sheet, or ratings=[FILE.csv,…] to "
                "evaluate filled-in sheets"
            )


@dataclass
class RateServeConfig(SheetConfig):
    """Serve a page on this machine, on which several people rate the answers in `runs` or `texts`, choose an
    option of each item of `data`, or write paraphrases. The same command goes on with an earlier folder."""

    data: DataConfig | None = None
    split: str = option("validation", "data: the split that people answer.", ("train", "validation", "test"))
    ask: str | None = option(
        None,
        "What people do: rate answers by codes, choose an option, or write a paraphrase. null: codes for "
        "answers, choice for data=.",
        ("codes", "choice", "paraphrase"),
    )
    raters: list[str] = words(
        "Names of the people who rate, for example pseudonyms or ids. Each gets a code to sign in with. You "
        "can add names later."
    )
    join: bool = option(
        False,
        "Let people join by a link with a name of their own, for example ?join=CODE&PROLIFIC_PID=ID. Each "
        "name can join once.",
    )
    checks: int = option(0, "Number of attention items among the items of each rater.", within=NUMBER)
    instructions: str | None = option(
        None, "Text file with your instructions. Raters see it first, and again by the key h."
    )
    finished: str | None = option(
        None, "A text for raters who have answered everything, for example a completion code of Prolific."
    )
    host: str = option(
        "127.0.0.1", "Address to listen at. Any other than this machine's own needs `names` too."
    )
    port: int = option(8321, "Port to listen at. 0: a free one.", within=PORT)
    names: list[str] = words(
        "Other names of the page, for example rate.example.org behind a proxy with TLS. Requests to a name "
        "that is not listed are refused."
    )
    export: bool = option(False, "Write the files in `exports` and end, without a page.")

    def __post_init__(self) -> None:
        super().__post_init__()
        answers = bool(self.runs or self.texts)
        if self.export and (answers or self.data is not None or self.raters):
            raise FiglangError("export=true writes the files of an earlier study; give only its folder=")
        if answers and self.data is not None:
            raise FiglangError(
                "runs= or texts= are answers to rate, data= is items to answer; give one of them"
            )
        if self.data is not None and self.ask == "codes":
            raise FiglangError(
                "ask=codes is for answers in runs= or texts=; with data= give ask=choice or ask=paraphrase"
            )
        if answers and self.ask not in (None, "codes"):
            raise FiglangError(
                f"ask={self.ask} is for data=; answers in runs= or texts= are rated by ask=codes"
            )
        if odd := next((name for name in self.raters if not RATER.fullmatch(name)), None):
            raise FiglangError(
                f"raters= has {odd[:40]!r}; use letters, digits, dots, hyphens and underscores, at most 64"
            )
        if twice := next((name for name in self.raters if self.raters.count(name) > 1), None):
            raise FiglangError(f"raters= names {twice} twice; give each person a name of their own")
        if self.host not in LOOPBACK and not self.names:
            raise FiglangError(
                f"host={self.host} opens the page to other machines; say by names=[HOST] under which name "
                "they reach it, or leave host= out"
            )
