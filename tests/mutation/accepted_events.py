"""Mutants in the code of lifecycle events that may survive, with the reason; accepted.py has all others."""

from __future__ import annotations

_WORDS = "the wording or the length of a text for the model or of a warning; tests/lifecycle checks it"
_SAME = "the result is the same"
_OURS = "a value that only our own file remembered.extension.json holds"
_OWN_MEMORY = "the content of our own remembered.extension.json; tests/lifecycle/test_session_memory.py checks it"
_WORK = "a skill that began with a plan alone or tasks alone; tests/lifecycle/test_compaction.py checks it"
_TRACKERS = (
    "for trackers of other harnesses, which no fixture has, and faults of the disk; "
    "tests/lifecycle/test_file_leases.py checks them"
)
_HINTS = "when a hint of a skill is given; tests/lifecycle/test_skill_hints.py checks it"
_FAULT = "only a fault of the disk or of the catalog reaches this code; tests/lifecycle makes such faults"
_NO_JSON = "for a payload that is no JSON, which no fixture sends; tests/lifecycle/test_malformed_payloads.py does"
_LARGE = "limits that need long fixtures; tests/lifecycle/test_large_params.py checks them"
_BLANKS = "no contract covers a blank around a name or a status"
_LOG = "the log of failed hooks is ours; tests/lifecycle/test_hook_failures.py checks it"
_SYSTEMS = "spellings of other systems; tests/lifecycle/test_file_kinds.py checks them"
_PLACES = "other places that a path may lead to; tests/lifecycle/test_nexus_guard.py checks them"
_PLACES_TOO = "other places that a path may lead to; tests/lifecycle/test_file_kinds.py checks them"
_HOST = "for an installed hook, whose host no fixture has; tests/lifecycle/test_budget.py and tests/harness check it"
_WORKTREE = (
    "for a linked worktree, which no fixture has; tests/worktrees and tests/lifecycle/test_file_leases.py check it"
)
_SESSIONS = "times of sessions, hours apart; tests/lifecycle/test_sessions.py checks them"
_CONFLICTS = "other content of a git index or file; tests/lifecycle/test_merge_conflicts.py checks it"
_OWN = "the content of our own agents.extension.jsonl; tests/lifecycle/test_agents_extension.py checks it"
_SAME_MS = "two agents of one id that begin in one millisecond, or events of one agent that wait for the lock"
_PROMPT = "for a prompt, which no fixture requests; tests/server checks it"
_RUN = (
    "for sessions and tasks of a run, which no fixture of events has; tests/run/test_session_rules.py, "
    "test_session_limits.py and test_command.py check it"
)
_SPELLED = "odd spellings of the names of tools; tests/lifecycle/test_pre_tool_use.py checks them"
_AT_ONCE = "one end of a turn that is reported several times at once; tests/lifecycle/test_turn_end.py checks it"
_GUARD = "a guard against faults of our own, which no event reaches"

# Module, or module:function; a pattern that the whole change matches; the reason.
ACCEPTED_EVENTS: tuple[tuple[str, str, str], ...] = (
    ("lifecycle/malformed_payload", r"'\w+' left out of \('harness_id', 'tool', .*", _NO_JSON),
    ("lifecycle/malformed_payload:(outline|_members|_text)", r".*", _NO_JSON),
    ("lifecycle/malformed_payload:decide", r"len\(identity\.names\) == 1 .*|1 -> [02]", _WORDS),
    ("lifecycle/malformed_payload:decide", r"ctx\.decision != DENY .*|ask_gate\(.* left out", _HOST),
    (
        "lifecycle/malformed_payload:decide",
        r"not is_whole or any.*|any\(\(fields.*|fields\.get\(one\) is not None .*",
        "a tool that edits is denied before that, because some agent of the catalog may not use it",
    ),
    (
        "lifecycle/malformed_payload:_deny_if_limited",
        r"0 -> .*|f'W(hich tool|hether) .*|quoted_name\(limited.*",
        _WORDS,
    ),
    ("lifecycle/malformed_payload:(_deny_if_any|_is_agent_readable|_word)", r".*", _NO_JSON),
    (
        "lifecycle/malformed_payload:decide",
        r"'(session_id|tool_input)' left out .*|_deny_if_any.*|(not is_whole or|fields\.get\('tool_input'\)) .*",
        _NO_JSON,
    ),
    ("lifecycle/malformed_payload:decide", r"ctx\.decide\(DENY, 'The payload does not .* left out", _NO_JSON),
    ("lifecycle/session_memory:", r"'(held|stopped|hinted|carried)' -> .*", _OURS),
    ("lifecycle/session_memory:", r"4000 -> .*", _HOST),
    ("lifecycle/session_memory:(_change|_read|_is_entry)", r".*", _OWN_MEMORY),
    ("lifecycle/session_memory:SessionMemory.(carry|take_carried)", r".*", _HOST),
    ("lifecycle/nexus_files:kind_of", r"return STATE .*|index == 0 and .*", _PLACES),
    ("lifecycle/nexus_files:parts", r"'\.?' left out .*", _PLACES),
    ("lifecycle/nexus_files:(_kind_below|_is_plain)", r".*", _PLACES),
    ("lifecycle/sources:catalog_of", r"return shipped.*|.*shipped = load\(None\).*", _FAULT),
    ("lifecycle/nexus_files:strictest", r"max\(kinds.*|most == NOTE -> .*", _PLACES),
    ("lifecycle/pre_tool_use:_is_denied", r"return False -> return None|0 -> -1", _SAME),
    ("lifecycle/guard:answer_failure", r"harness_files\.log_hook_error.* left out", _LOG),
    ("lifecycle/guard:answer_failure", r"False -> True", _NO_JSON),
    ("lifecycle/guard:answer_failure", r"(if )?is_whole and .*|any\(\(params\.get.*", _FAULT),
    (
        "lifecycle/guard:begin",
        r"True -> False",
        "waits for the lock; tests/lifecycle/test_waiting_time.py checks them",
    ),
    (
        "lifecycle/guard:harness_of",
        r"raise Invalid.* left out|problem left out .*",
        "it fails nevertheless, with another text",
    ),
    (
        "lifecycle/guard:answer_event",
        r"deadline\.note.* left out",
        "tests/lifecycle/test_deadline.py checks the deadline",
    ),
    ("lifecycle/malformed_payload:", r"(300000|64) -> .*|False -> True", _NO_JSON),
    (
        "lifecycle/malformed_payload",
        r"'(harness_id|tool|agent_id|agent_name|session_id|tool_input|file)' -> .*",
        _NO_JSON,
    ),
    ("lifecycle/malformed_payload", r"(200|3) -> .*|len\(barred\) .*", _WORDS),
    ("lifecycle/nexus_files", r".*range\(8203.*|\d{4,5} -> .*|'(nexus|histor)~' .*|5 -> 6", _SYSTEMS),
    ("lifecycle/nexus_files", r".*(_fold\b|folded|casefold|_SHORT).*", _SYSTEMS),
    ("lifecycle/nexus_files", r"'\.\.' not in names.*|.*FILE in kinds.*", _PLACES),
    (
        "lifecycle/nexus_files",
        r"(1|12|14|1000) -> .*|.*(LONGEST_PATH|_MAX_CHAR|length).*|raise ValueError .*|False -> .*",
        _LARGE,
    ),
    (
        "lifecycle/nexus_files",
        r".*(_inodes|NEXUS left|known|_kind_by_inode|rest|info\.st_ino|'nt'|localhost|made|encode|hex).*",
        _PLACES,
    ),
    (
        "lifecycle/nexus_files",
        r".*('/proc/'|'state|_MAGIC|getcwd|os\.sep|'file:'|\.lower|isabs|'~/').*|[0-9] -> .*",
        _PLACES,
    ),
    (
        "lifecycle/nexus_files",
        r".*(kind == NOTE|self\._root|is_above|self\._folders|number|name in).*|return FILE.*",
        _PLACES,
    ),
    (
        "lifecycle/nexus_files:Kinds._(kind|others|places)",
        r"other (!=|==) NOTE -> .*|.*plain (!=|==) path.*|'\.\.' in parts\(path\) -> .*|self\._below.* is None -> .*",
        _PLACES_TOO,
    ),
    ("lifecycle/nexus_files:Kinds._places", r"'\.\.' left out of .*", _PLACES_TOO),
    ("lifecycle/nexus_files:Kinds._places", r"'\.?' left out of .*", _SAME),
    (
        "lifecycle/nexus_files:Kinds.__init__",
        r"state_root or root -> .*|len\(self\.of\) >= .*",
        _PLACES_TOO,
    ),
    (
        "lifecycle/nexus_files:Kinds._kind_by_inode",
        r"len\(place\) > len\(top\) -> .*",
        "the project folder itself is none of the guarded places",
    ),
    ("lifecycle/nexus_files:Kinds._kind_by_inode", r"(if )?(not )?name:? -> .*|if not name: -> .*", _PLACES_TOO),
    (
        "lifecycle/nexus_files",
        r"TRIMMED .* left out|path\.strip\(TRIMMED\) -> .*|(if )?.*bare (and|or|!=|==) .*|.* in bare -> .*",
        _PLACES_TOO,
    ),
    ("lifecycle/nexus_files:names_state", r"\*value left out .*|return False -> return None", _PLACES_TOO),
    ("lifecycle/file_leases", r"5 -> [46]", "the sixth harness of one project"),
    ("lifecycle/file_leases:(_running|_other_harnesses|_has_tracker|_is_harness)", r".*", _TRACKERS),
    ("lifecycle/file_leases:find_holder", r"harness == .*", _TRACKERS),
    ("lifecycle/file_leases:_is_edit", r"is_edit.* -> .*", "the tool log has a file only for tools that read or edit"),
    ("lifecycle/file_leases:find_holder", r"since <= at .*", "an edit in the very millisecond in which a lease ends"),
    ("lifecycle/session_memory:_has_work", r"state\.check_plain\(PLAN\) or .*", _WORK),
    ("lifecycle/nexus_files:decoded_path", r"return .* -> return None", _PLACES_TOO),
    (
        "lifecycle/nexus_files",
        r"200 -> .*|return '.*|return f.*|'undo' -> .*|f'.*|told or f.*|.*'(plan|tasks)\.json'.*",
        _WORDS,
    ),
    (
        "lifecycle/nexus_files",
        r"'history\.json' .*|name in names .*|if (editing|patching): .*|kinds\[path\] .*",
        _WORDS,
    ),
    ("lifecycle/pre_tool_use", r"200 -> .*|return file -> return None|.*_CREATION in .*|'nexus_task_.*", _WORDS),
    ("lifecycle/pre_tool_use", r"ctx\.decide\(ALLOW\) left out", "allow and continue both let a tool run"),
    ("lifecycle/agent_identity", r"name\.rpartition\(':'\)\[2\]\.strip\(\) -> .*", _BLANKS),
    ("lifecycle/pre_tool_use", r"ctx\.warn\(f'Whether .*|return True -> return None|True -> False", _FAULT),
    ("lifecycle/p.*_tool_use", r"'agent_name' left out of \{.*", _SAME),
    ("lifecycle/post_tool_use", r"params\.get\('status', ''\)\.strip\(\) -> .*", _BLANKS),
    ("lifecycle/post_tool_use", r"ctx\.warn\('The use of the tool is not in .*", _LARGE),
    ("lifecycle/post_tool_use", r"return False -> return None", _SAME),
    ("lifecycle/session_start", r"raise left out", "without it the event fails one line later"),
    ("lifecycle/agent_identity", r"f'.*\.(rstrip\(\)|\{er…) -> .*|f'What .* -> .*|f'\{(file|more|identity).*", _WORDS),
    ("lifecycle/nexus_files", r"root\.rstrip\(os\.sep\) -> root", "for a project that is the root of the file system"),
    ("lifecycle/sources", r"3 -> .*|return '' -> return None", _WORDS),
    ("lifecycle/sources", r"ctx\.warn\(f.The project.*|fault\(error\) left out .*", _FAULT),
    (
        "lifecycle/session_start",
        r"1[12][0-9] -> .*|issue\['status'\] .*|if (not )?.*|return f?'.* -> return None",
        _WORDS,
    ),
    ("lifecycle/sources", r"'(plan|tasks)' -> .*|f'The .* -> .*", _WORDS),
    ("lifecycle/agent_spawn", r"if not error\.file\.endswith.*", "only a change that a crash left reaches this code"),
    ("lifecycle/agent_spawn", r"given_name\.rpartition\(':'\)\[2\]\.strip\(\) -> .*", _BLANKS),
    ("lifecycle/agent_(spawn|complete)", r"f'.*\.rstri.* -> .*", _WORDS),
    ("lifecycle/agent_complete", r"(16|1000|4096) -> .*|len\((fields|file).*|'last_message' -> .*", _LARGE),
    (
        "lifecycle/agent_complete",
        r"isinstance\(value, str\) and .*",
        "for a time in another form than the contract's",
    ),
    ("lifecycle/agent_complete", r"return False -> return None", _SAME),
    ("lifecycle/agent_complete:_warn_unfinished", r"task (not )?in late -> .*", _WORDS),
    (r"lifecycle/session_[cm]\w+", r"return '' -> return None", _SAME),
    (r"lifecycle/session_[cm]\w+", r"'Not all agents .*|.*\.rstrip\(\) -> .*", _WORDS),
    ("briefing/progress", r"return '' -> return None", _SAME),
    ("briefing/progress", r"\d+ -> \d+|-1 -> 1|(LINES|count|len\(.*\)) [-+>] .*|.*'goal'.*|names or .*", _WORDS),
    ("briefing/progress", r"'(none|ready|agents|owner|status|files_touched|unknown)' -> .*", _WORDS),
    (
        "briefing/progress",
        r"task\['status'\] == .*|isinstance\(.*|status if .*|f'- and .*|\*more left out .*",
        _WORDS,
    ),
    (r"lifecycle/session_[cm]\w+", r"return True -> .*|True -> False|settle\(memory.* left out", _FAULT),
    (
        r"lifecycle/session_[cm]\w+",
        r"(1|16|20|200) -> .*|'(session_id|at|by|given)' -> .*|.* left out of \('session_id', 'at', .*",
        _OURS,
    ),
    (
        r"lifecycle/session_[cm]\w+",
        r"\*\*self\.fields left out .*|value is not None -> .*|'at' left out .*",
        _OURS,
    ),
    (r"lifecycle/session_[cm]\w+", r"found\.append.* left out", _WORDS),
    (r"lifecycle/session_[cm]\w+", r"plan is None and tasks is None -> .*", _SAME),
    (r"lifecycle/session_[cm]\w+", r"'surrogatepass' -> .*", "for a lone surrogate that a file holds"),
    (r"lifecycle/session_[cm]\w+", r"'(context_compact|session_start|both|skill|plan|tasks)' -> .*", _OURS),
    (
        r"lifecycle/session_[cm]\w+",
        r"2 -> 1",
        "for a skill whose text the project changes while the model works by it",
    ),
    (r"lifecycle/session_[cm]\w+", r"'(seen|work)' -> .*", _OURS),
    (
        r"lifecycle/session_[cm]\w+",
        r"'(mode|history)' (-> |left out of \('skill').*",
        "the next skill sets it",
    ),
    (r"lifecycle/session_[cm]\w+", r"return '' -> return None", _SAME),
    (r"lifecycle/session_[cm]\w+", r"ctx\.warn\(f'The text .* left out", _FAULT),
    (r"lifecycle/session_[cm]\w+", r"part\.strip\(\) -> part|name (not )?in invocations -> .*", _WORDS),
    ("lifecycle/user_message", r"(20|160) -> .*|len\(open_ones\) .*|'(failed|would_extend|proposals)' -> .*", _WORDS),
    (
        r"lifecycle/(session_[cm]\w+|user_message)",
        r"\(skill, mode\) != .*|'(skill|mode)' -> .*|f\"mode .*",
        _WORDS,
    ),
    ("lifecycle/user_message", r"ctx\.give\(f'The skill .*|' Run that .*|\*more left .*|f'Tell .*|'act' -> .*", _WORDS),
    ("lifecycle/user_message", r"400 -> .*|f'mode \{mode\}' if .*", _WORDS),
    (
        "lifecycle/user_message",
        r".*(words\.strip|f', mode|_start_text|f\"Start the skill).*|words\[.* left out|memory\.note_skill.* left out",
        _HOST,
    ),
    ("lifecycle/user_message", r"ctx\.warn\(warning\) left out", _HOST),
    ("lifecycle/user_message", r"plan is None and tasks is None -> .*", _SAME),
    ("lifecycle/turn_end", r"'yes' -> .*|return '' -> .*", _SAME),
    ("lifecycle/turn_end:(run|claim)", r"False -> True|HELD not in known and .*|memory\.save\(.*", _AT_ONCE),
    ("lifecycle/agent_resume:record_hidden", r".*", _HOST),
    ("lifecycle/agent_complete:run", r"'session_id' -> .*", _HOST),
    ("lifecycle/agent_complete:_start_time", r"return '' -> .*", _FAULT),
    ("lifecycle/turn_end", r"'last_message' .*", "a param that the event accepts and does not use"),
    ("lifecycle/session_start", r"10 -> .*|400 -> .*|'tasks' -> .*|tasks and tasks.*", _WORDS),
    ("lifecycle/session_start", r"ctx\.give\(f\"This is a worktree .* left out", _WORKTREE),
    ("lifecycle/session_start", r"ctx\.warn\(f'Whether files .* left out", _FAULT),
    ("lifecycle/post_tool_use", r"True left out of \(\(\), True\)|True -> False", _SAME),
    ("lifecycle/post_tool_use", r"touch\(.* left out|'session_id' -> .*", _SESSIONS),
    ("lifecycle/post_tool_use", r".*(is_deaf|_give_carried|'agent_id' (not )?in params).*|'agent_id' -> .*", _HOST),
    ("lifecycle/post_tool_use", r"ctx\.warn\(warning\) left out|memory\.save\(\) left out", _HOST),
    ("lifecycle/pre_tool_use", r"50 -> .*", _LARGE),
    ("lifecycle/pre_tool_use:(_check_task_lease|_is_limited)", r".*", _RUN),
    (
        "lifecycle/pre_tool_use",
        r"ctx\.decide\(DENY, denial\) .*|.*_TASK_UPDATE.*|_check_task.*|'task_up.*|'tool_inp.*",
        _RUN,
    ),
    ("lifecycle/pre_tool_use", r"edit is not None -> .*", _RUN),
    ("lifecycle/pre_tool_use:run", r".*(hides_resumes|'agent_id'|record_hidden).*", _HOST),
    ("lifecycle/pre_tool_use", r"known is None -> .*|for name in meant .*|\*meant left .*|'tool' left .*", _SPELLED),
    ("lifecycle/pre_tool_use", r"ctx\.decision not in \(BLOCK, DENY\) and files .*", "it is blocked nevertheless"),
    ("lifecycle/pre_tool_use", r"if isinstance\(error, NexusError\): .*", _FAULT),
    ("lifecycle/pre_tool_use", r"conflicts is None or .*", _SAME),
    ("lifecycle/skill_hints", r"(1|16) -> .*", _LARGE),
    ("lifecycle/skill_hints", r"3 -> [24]|'skill' -> .*", _HINTS),
    ("lifecycle/skill_hints:(has_words|_is_joined)", r".*", _HINTS),
    ("lifecycle/merge_conflicts:", r"\d+ -> .*", _LARGE),
    ("lifecycle/merge_conflicts:", r"'(\w+_HEAD|rebase-\w+)' .*", _CONFLICTS),
    (
        "lifecycle/merge_conflicts:find_conflicts",
        r"return Conflicts\(root, .*|False -> True|_LARGEST if .*",
        _CONFLICTS,
    ),
    ("lifecycle/merge_conflicts:may_be_conflicted", r"return False .*|False -> True|any\(.*|1 -> 0", _CONFLICTS),
    ("lifecycle/merge_conflicts:has_markers", r"False -> True", _LARGE),
    ("lifecycle/merge_conflicts:_read", r"(True|0) -> .*|not stat.*|info.*|os\.close.*", _LARGE),
    ("lifecycle/merge_conflicts:(_unmerged_names|_varint)", r".*", _CONFLICTS),
    (r"lifecycle/session_context:give", r"ctx\.give\(f'The skill .* left out|name == 'notes' .*|'notes' -> .*", _HOST),
    ("lifecycle/settings", r"'edit' left out .*|.*(host\.limit|context_limit).*|return limit -> .*", _HOST),
    ("lifecycle/file_leases", r"'warn' -> .*|return (''|\{\}|\[\]|False) -> return None", _SAME),
    ("lifecycle/file_leases", r"200 -> .*", _WORDS),
    (
        "lifecycle/file_leases",
        r"1800 -> .*|at >= since -> .*",
        "a second of half an hour, which no test can detect",
    ),
    ("lifecycle/file_leases", r".*state_root.*", _WORKTREE),
    ("briefing/progress", r".*(describe\(\)|'\\n'\.join\(lines\)|error\.fault).*|0 -> -1", _PROMPT),
    ("lifecycle/agent_spawn", r"given_name\.strip\(\) -> .*", _BLANKS),
    ("lifecycle/agent_spawn", r"part == 'notes' -> .*|'notes' -> .*", _HOST),
    ("lifecycle/agent_identity", r"(256|80|3) -> .*|f'The tracker entry .*", _WORDS),
    ("lifecycle/agent_identity", r"if session: .*|agents is not None .*", _SESSIONS),
    ("lifecycle/agent_identity", r"session != ANONYMOUS .*|is_own and .*", _OWN),
    ("lifecycle/agent_identity", r"if not is_quiet: .*", "one or two warnings about a fault"),
    (
        "lifecycle/sources",
        r"(5|20) -> .*|len\(tasks\) == 1 .*|1 -> .*|'task' -> .*|return f\".*|task\['(id|status)'\] (not|!=) .*",
        _WORDS,
    ),
    (
        "state/agents:",
        r"'(spawn|resume|complete|fold|seen)' .*|200 -> .*|'\w+' left out of \('session_id'.*|'\w+' -> .*",
        _OWN,
    ),
    ("state/agents:", r"16 -> .*", _LARGE),
    ("state/agents:", r"'\w+_at' .*", _SESSIONS),
    ("state/agents:Records.names_of", r"isinstance\(name, str\) and .*", _GUARD),
    ("state/agents:Records.names_for", r".*MOST_NAMES.*|'names' -> .*", _LARGE),
    ("state/agents:Records.pairs", r".*", _OWN),
    ("state/agents:(Records.(last_event|with_seen|sessions_outside)|_times|is_time)", r".*", _SESSIONS),
    ("state/agents:Records.without", r"key in keys .*|one not in gone .*", _OWN),
    ("state/agents:Records.apply_all", r".* left out", _OWN),
    ("state/agents:_Working.__init__", r"\(key := .*|\*\*records\.seen .*", _SAME_MS),
    ("state/agents:_Working.apply", r"'(kind|at)' -> .*|return False -> .*", _OWN),
    ("state/agents:_Working.apply", r"if session: .*|self\._seen\[.*|max\(at.*", _SESSIONS),
    ("state/agents:_Working._begin", r".*(self\._keys|next_after|self\._own|len\().*|1 -> [02]|'at' -> .*", _SAME_MS),
    ("state/agents:_Working._name", r"key is None or .*|'agent_name' -> .*", _SAME),
    ("state/agents:key_of", r"isinstance\(agent_id, str\) and .*", _GUARD),
    (
        r"state/agents:(is_line|select_lines|is_event|_find_base|merge|_known_events|make_\w+|is_needed|_\w+)",
        r".*",
        _OWN,
    ),
    ("briefing/progress", r"'(file|s)' -> .*|number == 1 -> .*|return noun if .*", _WORDS),
    ("briefing/progress", r"f\"\{_plural\('task'.*|'task' -> .*", _WORDS),
    (
        "lifecycle/definition:",
        r".*'(type|items)' left out of .*",
        "fixtures give params of the right types; tests/lifecycle/test_params.py gives others",
    ),
    ("lifecycle/definition:", r"'session_id' left out .*", "a long session_id is cut where it is remembered, too"),
    ("lifecycle/definition:", r"'tool_input' left out .*", "no contract covers a NUL in the input of a tool"),
    ("lifecycle/definition:EventContext.decide", r"reason and .*", "markup in a name; tests/quoting checks it"),
    ("lifecycle/definition:EventContext.answer", r"len\(text\) .*|(12|4) -> .*|self\.limit .*", _HOST),
    ("lifecycle/definition:.*", r"name [!=]= 'agent_name'.*|'agent_name' -> .*|-LONGEST -> .*", _LARGE),
    ("lifecycle/definition:.*", r"fault\.pointer.*|1 -> [02]", _WORDS),
    ("lifecycle/definition:check_params", r"'type' left out .*'object'.*", _SAME),
    ("lifecycle/definition:is_failure", r".*", "the message that a user sees; tests/harness/test_dialect.py checks it"),
    ("lifecycle/definition:_is_storable", r".*", "a lone surrogate, which no fixture has; test_params.py has one"),
    ("lifecycle/(definition:own_fault|guard:fault_of)", r".*", _WORDS),
    (
        "lifecycle/guard:answer_failure",
        r"'agent_(id|name)' .*|return \{\*\*answer, .*|.* left out of \{\*\*answer.*",
        _FAULT,
    ),
    ("lifecycle/definition", r"'session_id' -> .*", "a long session_id is cut where it is remembered, too"),
    ("lifecycle/definition", r"'tool_input' -> .*", "no contract covers a NUL in the input of a tool"),
    ("lifecycle/guard", r"own is not None -> .*|error_log\.note.* left out|return workspace -> .*", _LOG),
    ("lifecycle/guard", r"answer\['warnings'\]\.append.*|'warnings' -> .*|return answer -> .*", _FAULT),
    ("lifecycle/guard", r"\*ctx\.warnings left out .*pop.*|if isinstance\(error, .*", _WORDS),
    (
        "lifecycle/guard",
        r"while .*|at (is not None|and) .*|at\.tb_next .*|return (f'nexus-mcp|'/').*|-?2 -> .*",
        _GUARD,
    ),
)
