"""Define the bounds of fixture files, of a target's output and files, of evidence, and of the time to clean up.

The bounds of single fields of a fixture are in schemas/conformance/fixture.schema.json.
"""

from __future__ import annotations

FIXTURE_FILE = 4 << 20
"""Bytes of one fixture file."""
FIXTURE_FILES = 64 << 20
"""Bytes of all fixture files that one command reads."""
FIXTURE_SIZE = 1 << 20
"""Characters of one fixture as JSON."""
FIXTURE_LEVELS = 64
"""Levels of nested arrays and objects in a field of a fixture."""
FIXTURE_NAME = 1000
"""Characters of a key in a fixture, which may be a path or a JSONPath."""
FIXTURE_TEXT = 256 << 10
"""Characters of any text in a fixture."""
FIXTURE_CALLS = 2000
"""Calls and events of one run of a fixture."""
FIXTURE_ALL_CALLS = 20_000
"""Calls and events of all repeats of a fixture."""
FIXTURE_PARAMS = 2000
"""Parameters of all calls and events of a fixture."""
FIXTURE_ASSERTIONS = 2000
"""JSONPaths of all assertions of a fixture."""
PATTERN = 2000
"""Characters of a pattern, as in the schema."""
EXPECTED_ITEMS = 1000
"""Items of an expected array, and names in `keys`, as in the schema."""
EXPECTED_LENGTH = 4 << 20
"""The maximum of `minLength`, as in the schema."""
FAULTS = 100
"""Schema faults, or exceeded bounds, of one fixture that are reported."""

PRINTED = 32 << 20
"""Bytes that the targets of all fixtures that run at once may print. Each fixture gets a share of it."""
PRINTED_MOST = 16 << 20
PRINTED_LEAST = 1 << 20
"""Bounds of the share of one fixture."""
LINE = 4 << 20
"""Bytes of one line that a target prints."""
VALUES = 300_000
"""JSON values in one fixture file, in the output of one fixture's target (over HTTP, in one response), in a text block,
and in one file that is checked.
"""
LARGEST = 4 << 20
"""Bytes of a file that is checked. The report says so if a file is larger."""

AT_ONCE = 8
"""The maximum number of fixtures that run at once by default: one for each processor, but not more than this."""

ITEM = 16 << 10
"""Characters, as JSON, of one answer, one value or one file in the evidence."""
FIXTURE_EVIDENCE = 128 << 10
"""Characters of the evidence of one fixture."""
RUN_EVIDENCE = 8 << 20
"""Characters of the evidence of a run. Beyond that, each item is shortened to REMAINDER characters."""
REMAINDER = 120

LOOKING_S = 60.0
"""Seconds to read the files that a target left in its project, or to delete them."""
GRACE_S = 5.0
"""Seconds to delete the files of a target after a signal ended the run."""
LAST_RESORT_S = 20.0
"""Seconds from a signal that ended the run until the process of the runner ends in any case."""
