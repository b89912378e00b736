"""The instructions to chat models, in several languages.

The wordings are figlang's. An instruction can be in another language than the items: `protocol.language`.
"""

from dataclasses import dataclass
from string import ascii_uppercase

# The name of the place of the letters, and of the texts of a rating.
LETTERS, FIRST, SECOND = "{letters}", "{first}", "{second}"


@dataclass(frozen=True)
class Instructions:
    """The sentences of a language.

    Attributes:
        last: The word between the last two letters of a list.
        answer: The word that begins the last line of a reply with reasoning.
        letter: Asks for a letter.
        cot: Asks for reasoning, then for a last line with a letter.
        interpret: Asks for the meaning of a text in words.
        forward: Asks for a rating: how plausible is it that the first text means the second?
        backward: Asks for a rating: how plausible is it that the first text is said by the second?
        blind: Asks for a rating of a text alone.
        questions: Wordings of a question about two statements, by their names.
    """

    last: str
    answer: str
    letter: str
    cot: str
    interpret: str
    forward: str
    backward: str
    blind: str
    questions: dict[str, str]

    def letters(self, count: int) -> str:
        """The first letters as a list in words: A, B or C."""
        letters = ascii_uppercase[:count]
        return f"{', '.join(letters[:-1])} {self.last} {letters[-1]}"


_PAIR = '"{metaphor}"\n%s\n(A) {a}\n(B) {b}'
_QUOTED = '"{first}"\n"{second}"\n'

LANGUAGES = {
    "en": Instructions(
        last="or",
        answer="Answer",
        letter="Answer with one letter only: {letters}.",
        cot="Think step by step first. Then end your reply with a last line of this form, where X is "
        "{letters}:\nAnswer: X",
        interpret='"{first}"\n\nSay in one or two sentences, in your own words, what this means.',
        forward=_QUOTED + "\nHow plausible is it that the first statement means the second? Reply with one "
        "whole number from 1 (not plausible) to 7 (very plausible).",
        backward=_QUOTED + "\nHow plausible is it that somebody who wants to say the first statement says "
        "the second? Reply with one whole number from 1 (not plausible) to 7 (very plausible).",
        blind='"{second}"\n\nHow plausible is this statement? Reply with one whole number from 1 (not '
        "plausible) to 7 (very plausible).",
        questions={"meaning": _PAIR % "Which of the following two statements does that mean?"},
    ),
    "de": Instructions(
        last="oder",
        answer="Antwort",
        letter="Antworte nur mit einem Buchstaben: {letters}.",
        cot="Denke zuerst Schritt für Schritt nach. Beende deine Antwort dann mit einer letzten Zeile dieser "
        "Form, wobei X für {letters} steht:\nAntwort: X",
        interpret='"{first}"\n\nSage in ein oder zwei Sätzen mit eigenen Worten, was das bedeutet.',
        forward=_QUOTED + "\nWie plausibel ist es, dass die erste Aussage die zweite bedeutet? Antworte mit "
        "einer ganzen Zahl von 1 (nicht plausibel) bis 7 (sehr plausibel).",
        backward=_QUOTED + "\nWie plausibel ist es, dass jemand, der die erste Aussage machen will, die "
        "zweite sagt? Antworte mit einer ganzen Zahl von 1 (nicht plausibel) bis 7 (sehr plausibel).",
        blind='"{second}"\n\nWie plausibel ist diese Aussage? Antworte mit einer ganzen Zahl von 1 (nicht '
        "plausibel) bis 7 (sehr plausibel).",
        questions={"meaning": _PAIR % "Welche der beiden folgenden Aussagen bedeutet das?"},
    ),
    "es": Instructions(
        last="o",
        answer="Respuesta",
        letter="Responde solo con una letra: {letters}.",
        cot="Piensa primero paso a paso. Termina tu respuesta con una última línea de esta forma, donde X es "
        "{letters}:\nRespuesta: X",
        interpret='"{first}"\n\nDi en una o dos frases, con tus propias palabras, qué significa esto.',
        forward=_QUOTED + "\n¿Qué tan plausible es que la primera afirmación signifique la segunda? Responde "
        "con un número entero del 1 (nada plausible) al 7 (muy plausible).",
        backward=_QUOTED + "\n¿Qué tan plausible es que alguien que quiere decir la primera afirmación diga "
        "la segunda? Responde con un número entero del 1 (nada plausible) al 7 (muy plausible).",
        blind='"{second}"\n\n¿Qué tan plausible es esta afirmación? Responde con un número entero del 1 '
        "(nada plausible) al 7 (muy plausible).",
        questions={"meaning": _PAIR % "¿Cuál de las dos afirmaciones siguientes significa eso?"},
    ),
    "fr": Instructions(
        last="ou",
        answer="Réponse",
        letter="Réponds par une seule lettre : {letters}.",
        cot="Réfléchis d'abord étape par étape. Termine ensuite ta réponse par une dernière ligne de cette "
        "forme, où X est {letters} :\nRéponse : X",
        interpret='"{first}"\n\nDis en une ou deux phrases, avec tes propres mots, ce que cela veut dire.',
        forward=_QUOTED + "\nEst-il plausible que la première affirmation veuille dire la seconde ? Réponds "
        "par un nombre entier de 1 (pas plausible) à 7 (très plausible).",
        backward=_QUOTED + "\nEst-il plausible que quelqu'un qui veut dire la première affirmation dise la "
        "seconde ? Réponds par un nombre entier de 1 (pas plausible) à 7 (très plausible).",
        blind='"{second}"\n\nCette affirmation est-elle plausible ? Réponds par un nombre entier de 1 (pas '
        "plausible) à 7 (très plausible).",
        questions={"meaning": _PAIR % "Laquelle des deux affirmations suivantes cela veut-il dire ?"},
    ),
    "id": Instructions(
        last="atau",
        answer="Jawaban",
        letter="Jawab dengan satu huruf saja: {letters}.",
        cot="Pikirkan dulu langkah demi langkah. Lalu akhiri jawabanmu dengan satu baris terakhir dalam "
        "bentuk ini, dengan X adalah {letters}:\nJawaban: X",
        interpret='"{first}"\n\nJelaskan dalam satu atau dua kalimat, dengan kata-katamu sendiri, apa '
        "artinya.",
        forward=_QUOTED + "\nSeberapa masuk akal bahwa pernyataan pertama berarti pernyataan kedua? Jawab "
        "dengan satu bilangan bulat dari 1 (tidak masuk akal) sampai 7 (sangat masuk akal).",
        backward=_QUOTED + "\nSeberapa masuk akal bahwa orang yang ingin menyampaikan pernyataan pertama "
        "mengatakan pernyataan kedua? Jawab dengan satu bilangan bulat dari 1 (tidak masuk akal) sampai 7 "
        "(sangat masuk akal).",
        blind='"{second}"\n\nSeberapa masuk akal pernyataan ini? Jawab dengan satu bilangan bulat dari 1 '
        "(tidak masuk akal) sampai 7 (sangat masuk akal).",
        questions={"meaning": _PAIR % "Manakah dari dua pernyataan berikut yang menjadi artinya?"},
    ),
}
# Wordings of the same question, whose results show how much depends on the words.
LANGUAGES["en"].questions.update(
    {
        "most_likely": _PAIR % "Which statement is the most likely meaning of that sentence?",
        "speaker": 'Somebody says: "{metaphor}"\nWhat does the speaker mean?\n(A) {a}\n(B) {b}',
        "paraphrase": _PAIR % "Choose the statement that says the same in literal words.",
        "follows": _PAIR % "Which of the two statements follows from that?",
    }
)


def filled(text: str, **places: str) -> str:
    """An instruction with its places filled in. Braces in the texts stay as they are."""
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text
