"""Recognise work that a person may want to see for security: files of secrets or permissions, and findings. Pure.

Names and words decide, not contents, so a match is a reason to ask and not a proof.
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
"""Patterns of names of files and folders, in lower case. A folder that matches stands for its files."""
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
        # what decides over commands and rights of agents, hooks and CI
        *(".claude", ".codex", ".opencode", ".nexus", ".husky", ".githooks", ".github", ".gitlab", ".circleci"),
    )
)
"""Names of folders whose files all count, in lower case."""
_WORDS = re.compile(
    r"\b(securit|vulnerab|exploit|inject|xss\b|csrf\b|ssrf\b|xxe\b|cve-|cwe-|path traversal|directory traversal"
    r"|remote code|privilege|authenticat|authoriz|authoris|permission|credential|secret|password|passwd|api key"
    r"|private key|hard-?coded (key|token)|sandbox escape|deserializ|deserialis|plain ?text)",
    re.IGNORECASE,
)
_SHOWN = 300
_MOST = 20


def sensitive_files(files: Iterable[str]) -> tuple[str, ...]:
    """Return the files whose names say that they hold secrets or permissions."""
    return tuple(path for path in files if _is_sensitive(path.casefold()))


def security_findings(verdict: dict[str, Any] | None) -> tuple[str, ...]:
    """Return the findings of security in a verdict, shortened: its findings, issues and fixes that speak of it, and in
    a rejection also its reasoning and the criteria that are not met.
    """
    try:
        found = Verdict.model_validate(verdict)
    except ValidationError:
        return ()
    texts = [" ".join(filter(None, (one.place, one.what, one.how, one.want))) for one in found.findings]
    texts += [*found.quality.issues, *found.fixes]
    if not found.approved:  # a rejection may name its fault only here; an approval may say that there is none
        texts += [f"{one.criterion} {one.note}" for one in found.acceptanceCriteria.criteria if not one.met]
        texts += [found.reasoning, found.testModifications.reasoning]
    return tuple(" ".join(text.split())[:_SHOWN] for text in texts if _WORDS.search(text))[:_MOST]


def _is_sensitive(path: str) -> bool:
    names = path.split("/")
    return not FOLDERS.isdisjoint(names) or any(fnmatchcase(name, pattern) for name in names for pattern in FILES)
