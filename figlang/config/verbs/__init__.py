"""The options of every verb: one file a verb, named like its file in figlang/commands/."""
