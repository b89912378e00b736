"""How a chat model is asked to choose: one file for each value of `protocol.kind`."""
