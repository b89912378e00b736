"""The options of each verb. A file here has the same name as the verb's file in figlang/commands/."""
