"""The options of the tables and figures of papers."""

from dataclasses import dataclass
from typing import ClassVar

from figlang.config.section import COUNT, NUMBER, TOKENS, option, words
from figlang.config.verbs.evaluate import EvaluateConfig
from figlang.errors import FiglangError


@dataclass
class MiqaTable3Config(EvaluateConfig):
    """MiQA's Table 3: every prompt, number of examples and question type, by one causal model that is loaded
    once."""

    kept_as: ClassVar[str | None] = "table3"

    questions: list[str] = words(
        "Prompts, instead of prompt.question. prompt.template adds a prompt of your own.",
        ("or", "numbered", "qa", "question_answer", "no_choices", "no_questions"),
    )
    shots: list[int] = words("Numbers of examples, instead of prompt.k.", (0, 1, 5), within=NUMBER)
    one_by_one: int = option(
        0,
        "Number of items whose strings are scored one by one too, to measure how much time sharing saves.",
        within=NUMBER,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.questions or not self.shots:
            raise FiglangError("questions= and shots= must name at least one each")


@dataclass
class MunchConfig(EvaluateConfig):
    """One of MUNCH's tasks with several prompts, and the tests of Tables 10 to 12."""

    prompts: list[str] = words("Ids of prompts, instead of prompt.question. Empty: all prompts.")
    ddof: int = option(
        1,
        "Standard deviation over prompts: 1, of a sample of prompts; 0, of all prompts there are.",
        ("0", "1"),
    )
    quantity_test: str = option(
        "welch",
        "Test whether novelty differs between right and wrong answers.",
        ("welch", "mann_whitney"),
    )
    class_test: str = option(
        "chi2",
        "Test of two classes of genre or part of speech. chi2 has no continuity correction: it is the z test "
        "of two proportions.",
        ("chi2", "chi2_yates", "fisher"),
    )
    least: int = option(
        20, "Smallest class that is tested. MUNCH has only 10 triples with an adverb.", within=COUNT
    )


@dataclass
class MunchJudgeConfig(MunchConfig):
    """MUNCH's Tables 2 and 9 to 12: all 18 judgement prompts by one causal model that is loaded once."""

    kept_as: ClassVar[str | None] = "judgements"

    one_by_one: int = option(
        0,
        "Number of triples whose answers are scored one by one too, to measure how much time sharing saves.",
        within=NUMBER,
    )


@dataclass
class MunchGenerateConfig(MunchConfig):
    """MUNCH's Tables 3 and 10 to 12: the ranks that a model gives to people's words, for all three
    prompts."""

    kept_as: ClassVar[str | None] = "rankings"

    form: str | None = option(
        None,
        "quote: the model continues a text after a quotation mark, as LLaMA did. insert: it fills in a "
        "blank, as GPT-3.5 did (a served model by the field `suffix` of completions). null: quote, but "
        "insert for masked models.",
        ("quote", "insert"),
    )
    rank: str | None = option(
        None,
        "first_token: the rank of the first token of a word in the vocabulary, as published. word: the rank "
        "of the whole word among the candidates. null: first_token, but word for masked models.",
        ("first_token", "word"),
    )
    candidates: str = option(
        "answers", "rank=word: all answers of the data set, or a text file with a word a line."
    )
    max_rank: int | None = option(
        None, "Largest rank that counts. 5 is what the interface of GPT-3.5 showed.", within=COUNT
    )
    compare: str = option(
        "casefold",
        "first_token: casefold ignores upper and lower case, exact does not.",
        ("casefold", "exact"),
    )
    leading_space: bool = option(True, "first_token: a token may begin with a space.")
    max_tokens: int = option(8, "first_token: longest word in tokens.", within=TOKENS)


@dataclass
class MunchFiguresConfig(EvaluateConfig):
    """MUNCH's Table 1 and Figures 3 and 8: genres, parts of speech and novelty of its sentences, similarity
    of its candidates."""

    kept_as: ClassVar[str | None] = "figures"

    vectors: str | None = option(
        None,
        "Static vectors for Figure 3: a GloVe text file (.txt, .vec, .gz), a .bin file of word2vec, a file "
        "of gensim (with allow_pickle=true), or `model`, the input embeddings of model= or checkpoint=. "
        "null: no Figure 3.",
    )
    lower: bool = option(True, "Look up words in lower case, as GloVe has them.")
    allow_pickle: bool = option(
        False, "Also read vectors that gensim saved: a pickle, which can run any code of its author."
    )
