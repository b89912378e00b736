"""Names and messages as text that neither steers a terminal nor breaks a file that holds it."""

import unicodedata


def printable(plain: str, lines: bool = False) -> str:
    """Text without control characters, which steer a terminal and are not allowed in XML: a picture stands
    for each.

    Line breaks and tabs become spaces; with `lines`, line breaks stay.
    """
    return "".join(char if char == "\n" and lines else _shown(char) for char in plain)


def _shown(char: str) -> str:
    if char in "\n\r\t\v\f\x85\u2028\u2029":
        return " "
    match unicodedata.category(char):
        case "Cc" if ord(char) < 0x20:
            return chr(0x2400 + ord(char))
        case "Cc" | "Cs":
            return "\ufffd"
        # Marks that turn the direction of what follows hide what a name is; joiners belong to scripts.
        case "Cf" if char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff":
            return "\ufffd"
    return "\ufffd" if char in "\ufffe\uffff" else char
