"""The proof that no acknowledged write is lost: `make torture`, and its quick forms in `make test`.

suite.py says what a suite is, suites/ has them, mutants/ the faults that are planted to see that they notice,
running.py runs one with its checkpoint, figures.py keeps what came of it for docs/reliability.md.
"""
