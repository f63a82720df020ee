"""Run a lifecycle event of the mutated package in a fork, so that nothing is imported again."""

from __future__ import annotations

import json
import os
import resource
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.failures import Reply, TargetFailure
from tests.forks import forked

_PROCESSOR_SECONDS = 3
"""Maximum seconds of CPU time of an event. Clock time would also count the work of other processes."""

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Event
    from nexus_mcp.conformance.settings import TargetOptions
    from nexus_mcp.conformance.target import Place


async def send_in_fork(event: Event, options: TargetOptions, place: Place) -> Reply:
    """Run a command as conformance/trial/steps.py does, in a fork. Raise TargetFailure if it gives no answer."""

    def tell(event: Event) -> dict[str, Any]:
        resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_SECONDS, _PROCESSOR_SECONDS))
        os.chdir(place.project)
        from nexus_mcp.lifecycle.guard import answer_event
        from nexus_mcp.workspace import Workspace

        return answer_event(event.type, json.loads(json.dumps(event.params)), Workspace(place.project))

    [(_, answer)] = forked([event], tell, options.timeout, processes=1)
    if answer is None:
        raise TargetFailure("gave no answer, or none in time", f"the event {event.type}")
    return Reply(answer, json.dumps(answer, ensure_ascii=False))
