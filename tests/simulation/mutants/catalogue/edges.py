"""Breakages of the edges: intake, the way out to providers, downloads, hostile input."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

INTAKE = ("tests/steps/test_webhook.py", "tests/steps/test_webhook_whose.py")
HTTP = ("tests/adapters/test_http.py",)
LINKS = ("tests/hostile/test_fetch.py", "tests/cases/test_links.py")

MUTANTS = (
    Mutant(
        name="intake answers 200 to what it could not do",
        why="acknowledge",
        breaks="an event is acknowledged before it is written",
        file="steps/webhook.py",
        old="""        raise Unavailable(f"try again: {type(error).__name__}", retry_after_s=5) from error
""",
        new="""        return 200, f"later: {type(error).__name__}"
""",
        tests=INTAKE,
    ),
    Mutant(
        name="intake's mark before its work",
        why="acknowledge",
        breaks="an event whose handler dies counts as done",
        file="steps/webhook.py",
        old="""delivery.ref or "account", verified.event_id], settle)
""",
        new="""delivery.ref or "account", verified.event_id], lambda: ran.append("") or "taken")
    if ran:
        verdict = settle()
""",
        tests=INTAKE,
    ),
    Mutant(
        name="a signed event of an unknown job is dropped",
        why="intake",
        breaks="an event that beats the row it is about is acknowledged and lost",
        file="steps/webhook.py",
        old="    if now - first < GRACE_MS:\n",
        new="    if now - first < 0:\n",
        tests=INTAKE,
    ),
    Mutant(
        name="all unknown events share one grace time",
        why="intake",
        breaks="ten minutes after the first one every event that beats its row is acknowledged and lost",
        file="steps/webhook.py",
        old='f"{delivery.provider}#{verified.event_id}"',
        new="delivery.provider",
        tests=INTAKE,
    ),
    Mutant(
        name="what nothing proves is remembered",
        why="intake",
        breaks="whoever makes up a URL writes into the table, and is told that there is no such job",
        file="steps/webhook.py",
        old="    if found is None and not verified.proven:\n",
        new="    if found is None and not verified:\n",
        tests=INTAKE,
    ),
    Mutant(
        name="any URL is one of ours",
        why="intake",
        breaks="the token in the URL is not checked",
        file="steps/tokens.py",
        old="token, job.id, job.incarnation, submission)\n",
        new="token, job.id, job.incarnation, submission) or job\n",
        tests=INTAKE,
    ),
    Mutant(
        name="a hint is believed",
        why="intake",
        breaks="an event of a source that is not trusted moves the job without a GET",
        file="steps/webhook.py",
        old="    if not traits.webhooks or report.confirm:\n",
        new="    if report.confirm:\n",
        tests=INTAKE,
    ),
    Mutant(
        name="a hint binds another job's result",
        why="H20",
        breaks="an id of which the provider says that it is another job's is bound to this one",
        file="steps/webhook.py",
        old="(bound_to_another or report.reference is not None)",
        new="bound_to_another",
        tests=INTAKE,
    ),
    Mutant(
        name="one provider speaks for another's jobs",
        why="intake",
        breaks="a reference in a rightly signed event of one provider moves a job of another",
        file="steps/webhook.py",
        old="if job is not None and job.provider == provider else None",
        new="if job is not None else None",
        tests=INTAKE,
    ),
    Mutant(
        name="a challenge is answered to anybody",
        why="intake",
        breaks="whoever asks has our URL say that it is ours",
        file="steps/webhook.py",
        old="    if _find(world, delivery) is None and not verified.proven:",
        new="    if delivery is None:",
        tests=INTAKE,
    ),
    Mutant(
        name="a timestamp of the future is fresh",
        why="intake",
        breaks="the window has one side only",
        file="signatures/common.py",
        old="    if timestamp - now_ms > tolerance_s * 1000:\n",
        new="    if timestamp - now_ms > 10**9 * tolerance_s:\n",
        tests=("tests/unit/test_signatures.py",),
    ),
    Mutant(
        name="an old timestamp is fresh",
        why="intake",
        breaks="an event can be replayed for ever",
        file="signatures/common.py",
        old="    if now_ms - timestamp > tolerance_s * 1000:\n",
        new="    if now_ms - timestamp > 10**9 * tolerance_s:\n",
        tests=("tests/unit/test_signatures.py",),
    ),
    Mutant(
        name="one right signature is not needed",
        why="intake",
        breaks="whoever sends any signature is believed",
        file="signatures/standard.py",
        old="    if not found:\n",
        new="    if not given:\n",
        tests=("tests/unit/test_signatures.py",),
    ),
    Mutant(
        name="progress says 100 before the end",
        why="progress",
        breaks="what a provider says of a running job is shown as done",
        file="views.py",
        old="max(0, min(99, progress.percent))",
        new="max(0, min(100, progress.percent))",
        tests=("tests/unit/test_views.py",),
    ),
    Mutant(
        name="the client sends a submit again",
        why="http",
        breaks="a retry inside the HTTP client, below everything that counts attempts",
        file="adapters/http.py",
        old="""            return self._ask(transport, request, {"Connection": "close"})
""",
        new="""            try:
                return self._ask(transport, request, {"Connection": "close"})
            except NoAnswer:
                return self._ask(transport, request, {"Connection": "close"})
""",
        tests=HTTP,
    ),
    Mutant(
        name="a submit follows a redirect",
        why="http",
        breaks="a create is sent a second time, to an address that an answer named",
        file="adapters/http.py",
        old="""            return self._ask(transport, request, {"Connection": "close"})
""",
        new="""            answer = self._ask(transport, request, {"Connection": "close"})
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            url = links.follow(request.url, answer.headers["location"])
            again = Request(method=request.method, url=url, headers=request.headers, body=request.body)
            return self._ask(transport, again, {"Connection": "close"})
""",
        tests=HTTP,
    ),
    Mutant(
        name="submits share a connection",
        why="http",
        breaks="a close that happened before the submit makes it ambiguous for nothing",
        file="adapters/http.py",
        old="""            return self._ask(transport, request, {"Connection": "close"})
""",
        new="""            return self._ask(self._pooled, request, {})
""",
        tests=HTTP,
    ),
    Mutant(
        name="our key goes to a foreign host",
        why="http",
        breaks="a result link of any host is sent our credentials",
        file="adapters/http.py",
        old="trusted = home and links.host_in(target.host, rules.credential_hosts)",
        new="trusted = home",
        tests=LINKS,
    ),
    Mutant(
        name="our key follows a redirect",
        why="http",
        breaks="a redirect within the trusted hosts carries our credentials on",
        file="adapters/http.py",
        old="            home = home and target.origin == first.origin\n",
        new="            home = first is not None\n",
        tests=LINKS,
    ),
    Mutant(
        name="our key goes where an answer says",
        why="http",
        breaks="a poll URL of any host is asked with our credentials",
        file="adapters/providers/calls.py",
        old='return links.host_in(target.host, rules.hosts) and (target.scheme == "https" or rules.allow_http)',
        new='return target.scheme == "https" or rules.allow_http',
        tests=("tests/unit/providers", "tests/contract/test_adapters.py"),
    ),
    Mutant(
        name="the address that is reached is not checked",
        why="http",
        breaks="a name that turns inward after the check is connected to",
        file="adapters/sockets.py",
        old="        if self._check is not None:\n",
        new="        if self._check is not None and not addresses:\n",
        tests=LINKS,
    ),
    Mutant(
        name="a download has no limit",
        why="size",
        breaks="the size is looked at once the whole file has come",
        file="media/check.py",
        old="        if self._size > self._max_bytes:\n",
        new="        if self._size > self._max_bytes and not chunk:\n",
        tests=("tests/unit/test_media.py", "tests/cases/test_results.py"),
    ),
    Mutant(
        name="a cut transfer is a file",
        why="size",
        breaks="fewer bytes than were declared are stored",
        file="media/check.py",
        old="        if declared_length is not None and declared_length != self._size:\n",
        new="        if declared_length is not None and declared_length < 0:\n",
        tests=("tests/unit/test_media.py",),
    ),
    Mutant(
        name="a body is decoded before it is measured",
        why="size",
        breaks="the size limit comes after the decoding",
        file="api/bodies.py",
        old="        if limit is not None and len(body) > limit * 4 // 3 + 4:\n",
        new="        if limit is not None and len(body) < 0:\n",
        tests=("tests/api/test_bodies.py",),
    ),
)
