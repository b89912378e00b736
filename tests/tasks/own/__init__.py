"""Tests of figlang/tasks/own."""
