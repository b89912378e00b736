"""Frames of metaphors for writers: a subject, something that is said of it, and a way to say it."""

import random

# How a sentence begins. A writer finishes it.
WAYS = (
    "The {subject} is as {ground} as …",
    "The {subject} has the {quality} of …",
    "When it comes to {quality}, the {subject} is …",
    "Anyone who thinks of {quality} would call the {subject} …",
)
# A subject, and what is said of it as an adjective and as a noun.
SUBJECTS = (
    ("meeting", "lively", "liveliness"),
    ("neighbour", "curious", "curiosity"),
    ("soup", "spicy", "spiciness"),
    ("train ride", "smooth", "smoothness"),
    ("choir", "loud", "loudness"),
    ("contract", "clear", "clarity"),
    ("staircase", "steep", "steepness"),
    ("referee", "fair", "fairness"),
    ("sofa", "soft", "softness"),
    ("landlord", "generous", "generosity"),
    ("rumour", "believable", "credibility"),
    ("bridge", "sturdy", "sturdiness"),
    ("handwriting", "neat", "neatness"),
    ("harbour", "busy", "busyness"),
    ("apology", "honest", "honesty"),
    ("winter", "mild", "mildness"),
    ("puppy", "obedient", "obedience"),
    ("lecture", "exciting", "excitement"),
    ("password", "safe", "safety"),
    ("garden", "tidy", "tidiness"),
    ("waiter", "quick", "speed"),
    ("coffee", "strong", "strength"),
    ("novel", "original", "originality"),
    ("witness", "reliable", "reliability"),
    ("basement", "damp", "dampness"),
    ("violin solo", "tender", "tenderness"),
    ("diet", "strict", "strictness"),
    ("mayor", "popular", "popularity"),
    ("tent", "roomy", "roominess"),
    ("river", "calm", "calm"),
    ("grandfather", "patient", "patience"),
    ("bargain", "tempting", "temptation"),
    ("blanket", "warm", "warmth"),
    ("exam", "easy", "ease"),
    ("nurse", "cheerful", "cheerfulness"),
    ("skyline", "beautiful", "beauty"),
    ("excuse", "convincing", "persuasiveness"),
    ("bicycle", "light", "lightness"),
    ("goalkeeper", "nimble", "nimbleness"),
    ("orchestra", "disciplined", "discipline"),
)


def drawn(count: int, seed: int) -> list[str]:
    """Frames in random order.

    Args:
        count: How many.
        seed: The seed of the order.

    Returns:
        Beginnings of sentences. None is repeated before all have been drawn.
    """
    every = [
        way.format(subject=subject, ground=ground, quality=quality)
        for way in WAYS
        for subject, ground, quality in SUBJECTS
    ]
    order = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        order.shuffle(every)
        found.extend(every[: count - len(found)])
    return found
