"""Networks that another engine holds inside this process: vLLM's offline `LLM`."""
