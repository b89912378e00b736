"""What a user can do: one file for each verb of `figlang VERB key=value …`."""
