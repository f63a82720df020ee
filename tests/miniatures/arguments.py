"""Servers that are wrong about the arguments of any tool, and about the form of answers and errors."""

from __future__ import annotations

import json

from nexus_mcp.server.app import Answer
from nexus_mcp.tools import TOOLS
from tests.miniatures.base import Call, Deviation, Json, Miniature, error, failed, load, save, shown

_TOOLS = {tool.name: tool for tool in TOOLS}


def _parameters(call: Call) -> dict[str, Json]:
    return _TOOLS[call.name].parameters


def ignores_unknown(call: Call) -> Answer:
    return call.right({name: value for name, value in call.arguments.items() if name in _parameters(call)})


def refuses_number_texts(call: Call) -> Answer:
    for name, value in call.arguments.items():
        if isinstance(value, str) and _parameters(call).get(name, {}).get("type") == "integer":
            return error(f"{name} must be an integer")
    return call.right()


def refuses_fractions(call: Call) -> Answer:
    for name, value in call.arguments.items():
        if isinstance(value, float) and name in _parameters(call):
            return error(f"{name} must be an integer")
    return call.right()


def cuts_fractions(call: Call) -> Answer:
    return call.right({k: int(v) if isinstance(v, float) else v for k, v in call.arguments.items()})


def takes_true_for_one(call: Call) -> Answer:
    numbers = [name for name, schema in _parameters(call).items() if schema["type"] == "integer"]
    return call.right({k: int(v) if k in numbers and isinstance(v, bool) else v for k, v in call.arguments.items()})


def takes_nothing_below_one_for_one(call: Call) -> Answer:
    numbers = [name for name, schema in _parameters(call).items() if schema["type"] == "integer"]
    return call.right({k: max(v, 1) if k in numbers and type(v) is int else v for k, v in call.arguments.items()})


def refuses_null(call: Call) -> Answer:
    null = [name for name, value in call.arguments.items() if value is None]
    return error(f"{', '.join(null)} must not be null") if null else call.right()


def takes_null_for_empty(call: Call) -> Answer:
    required = [n for n in _TOOLS[call.name].required if _parameters(call)[n]["type"] == "string"]
    return call.right({k: "" if v is None and k in required else v for k, v in call.arguments.items()})


def refuses_json_texts(call: Call) -> Answer:
    for name, value in call.arguments.items():
        if isinstance(value, str) and _parameters(call).get(name, {}).get("type") in ("array", "object"):
            return error(f"{name} must not be a string")
    return call.right()


def takes_a_text_for_a_list(call: Call) -> Answer:
    lists = [name for name, schema in _parameters(call).items() if schema["type"] == "array"]
    given = {
        k: [v] if k in lists and isinstance(v, str) and not v.startswith("[") else v for k, v in call.arguments.items()
    }
    return call.right(given)


def takes_numbers_for_texts(call: Call) -> Answer:
    texts = [name for name, schema in _parameters(call).items() if schema["type"] == "string"]
    return call.right(
        {k: str(v) if k in texts and isinstance(v, (int, float)) else v for k, v in call.arguments.items()}
    )


def fills_blanks(call: Call) -> Answer:
    filled = [name for name, schema in _parameters(call).items() if schema.get("minLength")]
    given = {
        k: "(none)" if k in filled and isinstance(v, str) and not v.strip() else v for k, v in call.arguments.items()
    }
    return call.right(given)


def drops_blank_items(call: Call) -> Answer:
    issues = call.arguments.get("issues")
    if not isinstance(issues, list):
        return call.right()
    return call.right({**call.arguments, "issues": [i for i in issues if not isinstance(i, str) or i.strip()]})


def strips(call: Call) -> Answer:
    return call.right({k: v.strip() if isinstance(v, str) else v for k, v in call.arguments.items()})


def ignores_wrong_choices(call: Call) -> Answer:
    choices = {name: schema["enum"] for name, schema in _parameters(call).items() if "enum" in schema}
    wrong = [k for k, v in call.arguments.items() if k in choices and isinstance(v, str) and v not in choices[k]]
    return call.right({k: choices[k][0] if k in wrong else v for k, v in call.arguments.items()})


def cuts_at_nul(call: Call) -> Answer:
    return call.right({k: v.split("\0")[0] if isinstance(v, str) else v for k, v in call.arguments.items()})


def tells_one_at_a_time(call: Call) -> Answer:
    answer = call.right()
    if failed(answer):
        shown(answer, {"error": answer.result["structuredContent"]["error"].split("; ")[0]})
    return answer


def looks_at_values_first(call: Call) -> Answer:
    known = {k: v for k, v in call.arguments.items() if k in _parameters(call)}
    unknown = len(known) < len(call.arguments)
    missing = [name for name in _TOOLS[call.name].required if known.get(name) is None]
    return call.right(known) if unknown and missing else call.right()


def _errors(edit: object) -> Deviation:
    def deviation(call: Call) -> Answer:
        answer = call.right()
        if failed(answer):
            edit(answer)  # type: ignore[operator]
        return answer

    return deviation


def _without_flag(answer: Answer) -> None:
    shown(answer, {"message": answer.result["structuredContent"]["error"]})
    answer.result["isError"] = False


def _without_payload(answer: Answer) -> None:
    message = answer.result["structuredContent"]["error"]
    answer.result = {"content": [{"type": "text", "text": message}], "isError": True}


def _prefixed(answer: Answer) -> None:
    shown(answer, {"error": f"Error: {answer.result['structuredContent']['error']}"})


def _coded(answer: Answer) -> None:
    shown(answer, {**answer.result["structuredContent"], "code": 400})


def _vague(answer: Answer) -> None:
    shown(answer, {"error": "The call failed."})


def writes_when_it_fails(call: Call) -> Answer:
    answer = call.right()
    if failed(answer):
        path = call.nexus / "state" / "errors.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{call.name}\n")
    return answer


def saves_when_it_fails(call: Call) -> Answer:
    answer = call.right()
    for path in (call.plan, call.tasks):
        if failed(answer) and path.exists():
            try:
                save(path, {**load(path), "last_error": call.name})
            except (ValueError, TypeError):
                continue
    return answer


def says_it_otherwise_in_text(call: Call) -> Answer:
    answer = call.right()
    answer.result["content"] = [{"type": "text", "text": json.dumps({"ok": not failed(answer)})}]
    return answer


def answers_in_prose(call: Call) -> Answer:
    answer = call.right()
    text = json.dumps(answer.result["structuredContent"], indent=2)
    answer.result = {"content": [{"type": "text", "text": f"Result:\n{text}"}], "isError": failed(answer)}
    return answer


def breaks_its_schema(call: Call) -> Answer:
    answer = call.right()
    return answer if failed(answer) else shown(answer, {**answer.result["structuredContent"], "took_ms": 3})


MINIATURES = (
    Miniature("ignores-unknown", "Unknown parameters are ignored.", (), ignores_unknown),
    Miniature("refuses-number-texts", 'A number sent as "2" is refused.', (), refuses_number_texts),
    Miniature("refuses-whole-fractions", "A number sent as 2.0 is refused.", (), refuses_fractions),
    Miniature("cuts-fractions", "A number 1.5 is taken for 1.", (), cuts_fractions),
    Miniature("takes-true-for-one", "true is accepted as 1.", (), takes_true_for_one),
    Miniature("takes-zero-for-one", "A number below 1 is accepted as 1.", (), takes_nothing_below_one_for_one),
    Miniature("refuses-null", "null is refused for an optional parameter.", (), refuses_null),
    Miniature("takes-null-for-empty", "null is accepted for a required text.", (), takes_null_for_empty),
    Miniature("refuses-json-texts", "A list or an object sent as its JSON text is refused.", (), refuses_json_texts),
    Miniature("takes-text-for-list", "A text is accepted as a list of one.", (), takes_a_text_for_a_list),
    Miniature("takes-numbers-for-texts", "A number is accepted as a text.", (), takes_numbers_for_texts),
    Miniature("fills-blanks", "A blank text is accepted where one is required.", (), fills_blanks),
    Miniature("drops-blank-issues", "Blank titles of issues are left out.", ("plan_start",), drops_blank_items),
    Miniature("strips-texts", "White space around texts is lost.", (), strips),
    Miniature(
        "ignores-wrong-choices",
        "A value outside of its allowed set counts as the first of the set.",
        (),
        ignores_wrong_choices,
    ),
    Miniature("cuts-at-nul", "A text ends at its first NUL.", (), cuts_at_nul),
    Miniature("tells-one-fault", "The error names only the first of several faults.", (), tells_one_at_a_time),
    Miniature("missing-before-unknown", "Missing parameters come before unknown ones.", (), looks_at_values_first),
    Miniature(
        "error-without-flag", "Errors have no isError, and the text in a field message.", (), _errors(_without_flag)
    ),
    Miniature(
        "error-without-payload", "Errors are plain text, without the field error.", (), _errors(_without_payload)
    ),
    Miniature("error-prefixed", 'Error messages begin with "Error: ".', (), _errors(_prefixed)),
    Miniature("error-coded", "Errors have a field code beside the message.", (), _errors(_coded)),
    Miniature("error-vague", "All errors have the same message.", (), _errors(_vague)),
    Miniature("failure-writes-a-log", "A failing call writes a log below .nexus.", (), writes_when_it_fails),
    Miniature("failure-marks-state", "A failing call marks the state files.", (), saves_when_it_fails),
    Miniature("text-differs", "The text block differs from structuredContent.", (), says_it_otherwise_in_text),
    Miniature("answers-in-prose", "Answers are prose with JSON in it.", (), answers_in_prose),
    Miniature(
        "breaks-its-schema",
        "Answers have a field that the advertised output schema forbids.",
        (),
        breaks_its_schema,
        keeps_schemas=True,
    ),
)
