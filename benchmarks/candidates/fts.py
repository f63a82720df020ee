"""SQLite's FTS5 with trigrams. The texts are lowered by `str.lower` before, because SQLite folds case differently."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def build(path: Path, texts: list[str]) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE cycles USING fts5(text, tokenize = 'trigram case_sensitive 1')")
    connection.executemany("INSERT INTO cycles(text) VALUES (?)", ((text,) for text in texts))
    connection.commit()
    connection.close()


class Fts:
    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)

    def count(self, term: str) -> int:
        """Return the number of cycles with the term. A term of under three characters is searched in every text."""
        if len(term) < 3:
            asked = "SELECT count(*) FROM cycles WHERE instr(text, ?)"
            found = self.connection.execute(asked, (term,))
        else:
            quoted = '"' + term.replace('"', '""') + '"'
            found = self.connection.execute("SELECT count(*) FROM cycles WHERE cycles MATCH ?", (quoted,))
        return int(found.fetchone()[0])
