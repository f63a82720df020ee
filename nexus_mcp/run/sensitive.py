"""Find files of secrets or permissions, and findings about security, for the trigger `security-review`. Pure.

They are found by file names and by words in verdicts, so a match is a reason to ask, not a proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from pydantic import ValidationError

from nexus_mcp.run.verdict import Verdict

FILES: tuple[str, ...] = (
    # secrets
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".dockercfg"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.asc", "*.gpg", "id_rsa*", "id_ed25519*"),
    *("*secret*", "*credential*", "*password*", "*passwd*", "*token*.json", "*.tfvars"),
    # permissions
    *("codeowners", "sudoers*", "*.sudoers", "*permission*", "*polic[yi]*", "*rbac*", "*iam*.tf", "*.rego"),
    *("firestore.rules", "storage.rules", ".gitattributes", ".gitmodules", "authorized_keys", "*acl*.y*ml"),
)
"""Patterns of names of files and folders, in lower case. If a folder matches, all its files do."""
FOLDERS: frozenset[str] = frozenset(
    (
        *(
            ".ssh",
            ".gnupg",
            ".aws",
            ".kube",
            ".docker",
            "secrets",
            "credentials",
            "permissions",
            "policies",
            "sudoers.d",
        ),
        # configuration of agents, hooks and CI: it sets their commands and rights
        *(".claude", ".codex", ".opencode", ".nexus", ".husky", ".githooks", ".github", ".gitlab", ".circleci"),
    )
)
"""Names of folders, in lower case. All files in them count."""
_WORDS = re.compile(
    r"\b(securit|vulnerab|exploit|inject|xss\b|csrf\b|ssrf\b|xxe\b|cve-|cwe-|path traversal|directory traversal"
    r"|remote code|privilege|authenticat|authoriz|authoris|permission|credential|secret|password|passwd|api key"
    r"|private key|hard-?coded (key|token)|sandbox escape|deserializ|deserialis|plain ?text)",
    re.IGNORECASE,
)
_SHOWN = 300
_MOST = 20


def sensitive_files(files: Iterable[str]) -> tuple[str, ...]:
    """Return the files that probably concern secrets or permissions, by their names."""
    return tuple(path for path in files if _is_sensitive(path.casefold()))


def security_findings(verdict: dict[str, Any] | None) -> tuple[str, ...]:
    """Return the texts about security in a verdict, shortened: findings, issues and fixes, at most _MOST texts. If the
    verdict rejects the work, return also its reasonings and the criteria that are not met. Return () for an invalid
    verdict.
    """
    try:
        found = Verdict.model_validate(verdict)
    except ValidationError:
        return ()
    texts = [" ".join(filter(None, (one.place, one.what, one.how, one.want))) for one in found.findings]
    texts += [*found.quality.issues, *found.fixes]
    if not found.approved:  # an approval may say here that there is no security fault
        texts += [f"{one.criterion} {one.note}" for one in found.acceptanceCriteria.criteria if not one.met]
        texts += [found.reasoning, found.testModifications.reasoning]
    return tuple(" ".join(text.split())[:_SHOWN] for text in texts if _WORDS.search(text))[:_MOST]


def _is_sensitive(path: str) -> bool:
    names = path.split("/")
    return not FOLDERS.isdisjoint(names) or any(fnmatchcase(name, pattern) for name in names for pattern in FILES)
