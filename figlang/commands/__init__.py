"""The commands: one file for each verb of `figlang VERB key=value …`."""
