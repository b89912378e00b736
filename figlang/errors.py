"""Errors that are meant for the person at the keyboard."""


class FiglangError(Exception):
    """What is wrong, where, and what to do, in one line.

    The entry points print it without a traceback and exit with code 2.
    """
