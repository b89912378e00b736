"""Numbers as people write them, and the words beside them: 1 item is, 2 items are."""


def form(number: float, one: str, several: str = "") -> str:
    """The form of a word that agrees with a number.

    Args:
        number: The number.
        one: The word for exactly 1.
        several: The word for any other number; empty: the same with an s.
    """
    return one if number == 1 else several or f"{one}s"


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: 1 item, 2 items, 1,094 items.

    Args:
        number: The number.
        one: The noun.
        several: Its plural; empty: with an s.
    """
    return f"{number:,} {form(number, one, several)}"


def typed(value: float) -> str:
    """A number as people type it: 0.01, and 1e-4 for what Python writes as 0.0001 or 1e-04.

    Args:
        value: The number. Six digits of it are kept.
    """
    if not 0 < abs(value) < 1e-3:
        return f"{value:g}"
    digits, _, power = f"{value:.5e}".partition("e")
    return f"{float(digits):g}e{int(power)}"


def duration(seconds: float) -> str:
    """A time in words, with as many digits as an estimate deserves."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if minutes < 90:
        return f"{minutes} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"
