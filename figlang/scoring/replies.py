"""Choices by the letter in a model's reply.

Replies are read strictly: if a reply names no option or several, it is unread and counts as wrong.
"""

import re
from string import ascii_uppercase

# Reasoning before the answer, as open models write it. If a chat template begins it, the reply has only its
# end.
_THOUGHTS = r"think|thinking|thought|reasoning|reflection|analysis|scratchpad"
THOUGHT = re.compile(rf"<({_THOUGHTS})>.*?</\1>|\[THINK\].*?\[/THINK\]", flags=re.DOTALL | re.IGNORECASE)
OPENED = re.compile(rf"<(?:{_THOUGHTS})>|\[THINK\]|<\|channel\|>", flags=re.IGNORECASE)
CLOSED = re.compile(rf"</(?:{_THOUGHTS})>|\[/THINK\]|<\|channel\|>final<\|message\|>", flags=re.IGNORECASE)
# Tokens that begin or end a turn, if they are in the text of a reply. Text after the end of the turn is not
# part of the reply.
BEGUN = re.compile(
    r"^(?:\s|<s>|<bos>|<\|(?:im_start|start|start_header_id|end_header_id|begin_of_text|message)\|>(?:assistant)?)+"
)
ENDED = re.compile(r"<\|[^|<>\s]+\|>|<｜[^｜<>]+｜>|</s>|<eos>|<(?:end|start)_of_turn>|\[/?INST\]")
# TeX around an answer: \(\boxed{\text{B}}\), $B$.
STYLED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|mbox)\{([^{}]*)\}")
BOXED = re.compile(r"\\(?:boxed|fbox)\{([^{}]*)\}")
MATHS = re.compile(r"\\[()\[\]]|\${1,2}(?=[^$\n]{1,60}\$)|(?<=[\w).])\${1,2}")
TAGGED = re.compile(r"<(answer|final_answer)>\s*([^<>]*?)\s*</\1>", flags=re.IGNORECASE)
MARKS = re.compile(r"[*_`\"'“”‘’]")
ASIDE = re.compile(
    r", *(?:however|though|therefore|actually|really|frankly|honestly|of course) *,", flags=re.IGNORECASE
)
# Words that reject an option: after its label (REJECTED), or before "the answer is" in the same clause (DENIAL).
# Apostrophes are removed first.
SAYS = r"is|was|does|do|can|could|would|will|seems|sounds|looks|appears|makes|has|fails|contradicts|misses|lacks|ignores"
NEVER = r"(?:is|was|does|do|did|could|would|should|ca|wo|has)nt|cannot|can not|is not|was not"
RIGHT = r"(?:be )?(?:the )?(?:right|correct|best|better|closest|answer)\b"
REJECTED = rf"(?! *(?:{NEVER})\b)(?! *(?:{SAYS})\b(?! *{RIGHT}))(?! *\?)"
DENIAL = re.compile(
    r"\b(?:if|not|never|wrong|incorrect|cannot|(?:do|does|did|is|ca|wo|would)nt|could|might|"
    r"(?:some|many|people|others|one)(?: \w+)? (?:say|think|argue|believe|claim))\b",
    flags=re.IGNORECASE,
)
CLAUSE = ".,:;!?\n"  # the marks that end a clause
LISTED = re.compile(r"\b[A-Z]\)? *(?:or|and|/) *$")
# Words after an answer that withdraw it: a condition or a question in its clause, or a second thought later.
CONDITION = re.compile(r"[^.,:;!?\n]*(?:\?|\b(?:if|unless|literally)\b)", flags=re.IGNORECASE)
SECOND_THOUGHT = re.compile(
    r"\b(?:wait|hmm|actually|correction|scratch that|on second thought|let me reconsider|sorry)\b|\bno, ",
    flags=re.IGNORECASE,
)
# A judgement of an option that follows its words.
VERDICT = re.compile(
    r"\b(?:is|was|are|seems) (?:wrong|incorrect|ruled out)\b|\bincorrect\b|\bwrong (?:answer|option|choice)\b|"
    r"\bnot (?:the )?(?:right|correct|best|answer|intended)\b|\b(?:does not|doesnt|cannot|cant) (?:fit|match|follow|be right)\b",
    flags=re.IGNORECASE,
)
BEST = (
    r"(?<!second )(?<!next )\b(?:best|better|correct|right|closest|intended|"
    r"most (?:likely|plausible|accurate|appropriate|fitting|apt)) "
    r"(?:answer|option|choice|interpretation|meaning|statement|reading|match|fit|paraphrase|completion|continuation|"
    r"explanation|description|sentence)"
)


def final(reply: str) -> str:
    """The text of a reply after its reasoning, without the tokens around the turn.

    It is empty if the reasoning was cut off.
    """
    text = CLOSED.split(unthought(reply))[-1]
    return "" if OPENED.search(text) else ENDED.split(BEGUN.sub("", text), maxsplit=1)[0]


def unthought(reply: str) -> str:
    """The text of a reply without reasoning that has a beginning and an end."""
    # A search for the end from each of many beginnings would take a time that grows with their square.
    return THOUGHT.sub(" ", reply) if CLOSED.search(reply) else reply


def _plain(text: str) -> str:
    """The text without TeX, tags and emphasis. "answer:" is put before the content of a box or answer tag."""
    text = TAGGED.sub(r"answer: \2", BOXED.sub(r"answer: \1", STYLED.sub(r"\1", text)))
    return ASIDE.sub("", MARKS.sub("", MATHS.sub("", text)))


def letter(reply: str, options: int) -> str | None:
    """The letter of the option that a reply names as its answer; None if it names none, or several.

    Reasoning in `<think>…</think>` is left out. The first of these that the reply has is the answer:

    1. a letter that is the whole last line ("B", "(B).", "Answer: B");
    2. the last "the answer is B", "B is correct", or B in a box or tag;
    3. a letter that is the whole first line;
    4. the only label before an option's words ("(B) She is kind", "B. She is kind").

    An option's words without its letter are not an answer. If the reasoning was cut off, there is no answer. A
    letter is not an answer if it is rejected ("(A) is wrong", "I don't think the answer is A"), if it is in a
    condition or question, if it stands above a list, or if it is one of several.
    """
    lines = [line.strip() for line in _plain(final(reply)).splitlines() if line.strip()]
    if not lines:
        return None
    one = f"[{ascii_uppercase[:options]}]"
    lead = r"(?i:(?:so |thus,? )?(?:(?:the|my) )?(?:(?:final|correct|best) )?(?:answer|option|choice)(?: is)?:? *(?:option )?)"
    # "A" may be an article. So a letter without brackets must end its clause or be followed by a reason, and it
    # must be the only letter.
    several = rf"(?! *(?:,|/|&|and\b|or\b|and/or\b) *(?i:option )?\(?{one}\b)"
    end = rf"(?= *(?:[.,:;!)\]}}\n]|$|[–—-] | because\b| since\b)){several}"
    label = rf"(?:\(({one})\){REJECTED}{several}|({one}){end})"
    alone = re.compile(rf"{lead}?{label}[.!:)]?")
    # "Choice A: …" begins a list, "Choice: A" ends one.
    named = (
        r"(?i:answer|choice)(?i: is:?| would be:?|:)|(?i:choose|pick|select):?|"
        rf"(?i:{BEST})(?i: is:?| would be:?|:)"
    )
    said = rf"\b(?:{named}) *(?i:option )?{label}|\b(?i:answer|choice) {label}(?! *:)"
    called = rf"(?<!or )(?<!and )(?:\(({one})\)|\b({one})) is (?i:the |my )?(?i:(?:final|right|correct|best|better) )*"
    stated = re.compile(rf"{said}|{called}(?i:answer|choice|option|right|correct)\b")
    bare, text = [alone.fullmatch(line) for line in lines], "\n".join(lines)
    distinct = {_of(found) for found in bare if found}
    if all(bare) and len(distinct) > 1:
        return None
    if found := bare[-1]:
        return _of(found)
    if answers := [found for found in stated.finditer(text) if _stands(found, text)]:
        last, before = answers[-1], answers[-2] if len(answers) > 1 else None
        either = (
            before
            and _of(before) != _of(last)
            and not re.search(r"[.!?\n]", text[before.end() : last.start()])
        )
        return None if either or SECOND_THOUGHT.search(text, last.end()) else _of(last)
    if (found := bare[0]) and len(distinct) == 1 and not lines[0].endswith(":"):
        return _of(found)
    labels = {
        _of(found)
        for found in re.finditer(rf"\(({one})\){REJECTED}|^({one})[.):] *\S", text, flags=re.MULTILINE)
    }
    begins = any(re.match(rf"\(?{one}[.):]", line) for line in lines)
    return labels.pop() if len(labels) == 1 and begins and not VERDICT.search(text) else None


def _stands(found: re.Match[str], text: str) -> bool:
    """Whether a letter is an answer.

    Its clause must not reject it, must not be a question or condition, and must name no other letter.
    """
    clause = text[1 + max(text.rfind(mark, 0, found.start()) for mark in CLAUSE) : found.start()]
    return not (DENIAL.search(clause) or LISTED.search(clause) or CONDITION.match(text, found.end()))


def _of(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)
