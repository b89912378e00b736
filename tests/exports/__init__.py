"""Tests of figlang/exports."""
