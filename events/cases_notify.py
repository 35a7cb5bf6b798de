"""Cases of notify: events on their way to a receiver, and an operator's hand on where they go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from events.case import DONE, Case, document, problem
from events.fixed import NOW, OTHER_TENANT, PROVIDER_URL, TENANT
from events.scenes import HOOK, story
from events.shapes import OPERATOR, USER, api, message, records
from mediajobs import views

DAY_MS = 86_400_000
AGAIN = {"batchItemFailures": [{"itemIdentifier": "19dd0b57-b21e-4ac1-bd88-01bbb068cb01"}]}
ASKED = (f"POST {HOOK}",)
BODY = json.dumps(views.message(story("succeeded").job, {"order": "1042"}), sort_keys=True)


def notify() -> Iterator[Case]:
    yield from _events()
    yield from _operators()


def _event(body: object = BODY, *, tenant: str = TENANT, age_ms: int = 1000) -> dict[str, Any]:
    record = message(body, queue="notify")
    record["messageAttributes"] = {"tenant": {"stringValue": tenant, "dataType": "String"}}
    record["attributes"]["SentTimestamp"] = str(NOW - age_ms)
    return records(record)


def _events() -> Iterator[Case]:
    def case(name: str, says: str, event: dict[str, Any], *answers: dict[str, Any], **more: Any) -> Case:
        facts: dict[str, Any] = {"given": ("registered",), "answer": DONE, "asked": ASKED if answers else ()}
        return Case(function="notify", name=name, says=says, event=event, provider=answers, **(facts | more))

    buried = {"queue": "notify-dead", "message": json.loads(BODY)}
    plain = {"failures": 0, "revision": 1}
    yield case("delivered", "Signed and taken; nothing is written.", _event(), {"status": 204}, registration=plain)
    bad = {"failures": 1, "failing_since": NOW, "trouble": "answered 500"}
    says = "The receiver fails: the event comes again, and the registration tells."
    yield case("refused", says, _event(), {"status": 500}, answer=AGAIN, registration=bad)
    away = {"status": 302, "headers": {"Location": f"{PROVIDER_URL}/elsewhere"}}
    says = "A redirect is not followed."
    yield case("redirected", says, _event(), away, answer=AGAIN, registration={"failures": 1})
    yield case("cut", "No answer: perhaps taken, sent again.", _event(), {"cut": True}, answer=AGAIN)
    over = {"ended": "gone", "secrets": [], "ended_at": NOW}
    says = "410 ends the registration, and a person is shown the event."
    yield case("gone", says, _event(), {"status": 410}, registration=over, sent=(buried,))
    says = "Three days are over: given up, and shown to a person."
    old = _event(age_ms=3 * DAY_MS)
    yield case("given-up", says, old, {"status": 500}, registration={"failures": 1}, sent=(buried,))
    says = "The receiver fails and another event is its probe: not tried now."
    yield case("held", says, _event(), given=("failing",), answer=AGAIN, registration={"failures": 4, "revision": 1})
    says = "The hold is over: this event is the probe, and its success ends the trouble."
    well = {"failures": 0, "failing_since": None}
    yield case("probe", says, _event(), {"status": 200}, given=("failed-before",), registration=well)
    yield case("nobody", "No receiver is registered any more.", _event(), given=())
    yield case("ended", "Nor where the registration has ended.", _event(), given=("ended-registration",))
    yield case("no-tenant", "Not a message of the topic's.", records(message(BODY, queue="notify")))
    yield case("not-ours", "Nor is this.", _event("hello"))


def _operators() -> Iterator[Case]:
    path = f"/v1/callbacks/{TENANT}"
    wanted = {"url": f"{PROVIDER_URL}{HOOK}"}

    def case(name: str, says: str, method: str, path: str, answer: dict[str, Any], **more: Any) -> Case:
        event = api(method, path, body=more.pop("body", None), caller=more.pop("caller", OPERATOR))
        return Case(function="notify", name=name, says=says, event=event, answer=answer, **more)

    def post(name: str, says: str, answer: dict[str, Any], body: object = wanted, **more: Any) -> Case:
        return case(name, says, "POST", path, answer, body=body, **more)

    active = document(200, tenant=TENANT, status="active", failures=0)
    echoed: dict[str, Any] = {"provider": ({"echo": True},), "asked": ASKED}
    made = {"failures": 0, "ended": None, "revision": 1}
    yield post("register", "The challenge came back: registered, with a secret.", active, **echoed, registration=made)
    kept = {"revision": 2, "since": NOW - DAY_MS}
    says = "Registered again: the secrets stay."
    yield post("register-again", says, active, given=("registered",), **echoed, registration=kept)
    says = "After an end it begins anew."
    anew = {"revision": 2, "since": NOW, "ended": None}
    yield post("register-after-end", says, active, given=("ended-registration",), **echoed, registration=anew)
    wrong = problem(422, "unprocessable")
    says = "The receiver answers and does not give the challenge back."
    yield post("challenge-not-echoed", says, wrong, provider=({"status": 200},), asked=ASKED)
    yield post("challenge-refused", "Nor with this.", wrong, provider=({"status": 403},), asked=ASKED)
    yield post("private-address", "An address of our own network.", wrong, {"url": "https://10.0.0.7/hook"})
    yield post("metadata-address", "The metadata service.", wrong, {"url": "http://169.254.169.254/latest/"})
    yield post("plain-http", "Not encrypted.", wrong, {"url": "http://acme.example.com/hook"})
    yield post("no-url", "A field is missing.", wrong, {})
    yield post("not-json", "Not JSON.", problem(400, "bad-request"), b"url=https://acme.example.com")
    yield post("register-as-user", "Operators only.", problem(403, "forbidden"), caller=USER)
    yield post("register-nobody", "No caller.", problem(401, "unauthorized"), caller=None)
    shown = document(200, tenant=TENANT, status="active", secrets=[{"until": None}])
    yield case("read", "Without any secret.", "GET", path, shown, given=("registered",))
    yield case("read-ended", "It stays to be seen.", "GET", path, document(200, status="ended", secrets=[]),
               given=("ended-registration",))  # fmt: skip
    nothing = problem(404, "not-found")
    yield case("read-nothing", "Nobody is registered.", "GET", f"/v1/callbacks/{OTHER_TENANT}", nothing)
    yield case("odd-tenant", "No tenant is called so.", "GET", "/v1/callbacks/..%2Fdemo", nothing)
    rotate = f"{path}/rotate"
    both = document(200, tenant=TENANT, status="active")
    twice = {"revision": 2, "secrets": [{"until": None}, {"until": NOW + DAY_MS}]}
    says = "A new secret beside the old one, which ends a day later."
    yield case("rotate", says, "POST", rotate, both, body={}, given=("registered",), registration=twice)
    yield case("rotate-wrong", "Longer than a week.", "POST", rotate, wrong, body={"overlap_s": 9_999_999},
               given=("registered",))  # fmt: skip
    ended = {"ended": "operator", "secrets": []}
    done = document(200, status="ended", ended_by="operator")
    yield case("end", "Nothing is sent any more.", "DELETE", path, done, given=("registered",), registration=ended)
    yield case("end-again", "It had ended.", "DELETE", path, nothing, given=("ended-registration",))
