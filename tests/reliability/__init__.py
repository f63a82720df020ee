"""The proof that no acknowledged write is lost: `make torture`, and its short forms in `make test`.

suite.py defines a suite, suites/ has all suites, mutants/ the planted faults that they must notice. runner.py runs one
suite with its checkpoint, figures.py stores its figures for docs/reliability.md.
"""
