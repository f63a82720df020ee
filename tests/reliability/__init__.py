"""The proof that no acknowledged write is lost: `make torture`, and its short forms in `make test`.

suite.py defines a suite, suites/ has all suites, and mutants/ has the planted faults that the suites must detect.
runner.py runs one suite with a checkpoint. figures.py stores the figures for docs/reliability.md.
"""
