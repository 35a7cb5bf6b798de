"""Notify: one event to the receiver that its tenant registered, signed, under an id that no repeat changes."""

from __future__ import annotations

from mediajobs import callbacks, links
from mediajobs.callbacks import Ended, Notice, Registration, Verdict
from mediajobs.errors import NoAnswer, NotSent, UnsafeUrl
from mediajobs.messages import LinkRules, Request, Response
from mediajobs.ports import World
from mediajobs.signatures import sign_standard

GONE = 410
TRIES = 4
_REDIRECTS = range(300, 400)


def notify(world: World, notice: Notice) -> Verdict:
    """Try once, unless this receiver fails and another event is its probe. FAILED and HELD are to come again: the
    queue has been told when.

    Whatever dies in here comes again by itself, perhaps after it was taken: the receiver knows it by its id.
    """
    registration = world.callbacks.registration(notice.tenant)
    if registration is None or registration.ended:
        _remind(world, registration)
        return _told(world, notice, Verdict.NOBODY)
    probe = _may_try(world, registration)
    if probe is None:
        return _again(world, notice, registration, Verdict.HELD)
    return _tried(world, notice, probe)


def _remind(world: World, ended: Registration | None) -> None:
    """The topic still sends what nobody wants: whoever ended the registration may have died before it was told."""
    again = ended and callbacks.unheeded(ended, world.clock.now())
    if again and world.callbacks.save(ended, again):
        listen(world)


def _may_try(world: World, registration: Registration) -> Registration | None:
    """The registration under which to try; where the receiver fails, for one event at a time."""
    now = world.clock.now()
    if registration.held_until > now:
        return None
    if not registration.failures:
        return registration
    probe = callbacks.probing(registration, now)
    if not world.callbacks.save(registration, probe):
        return None
    return callbacks.next_revision(probe)


def _tried(world: World, notice: Notice, registration: Registration) -> Verdict:
    trouble, asked_s = "", 0
    try:
        answer = send(world, registration, notice.event_id, notice.body)
    except (NotSent, NoAnswer, UnsafeUrl) as error:
        trouble = f"{type(error).__name__}: {error}"[:200]
    else:
        if 200 <= answer.status < 300:
            if registration.failures:
                world.callbacks.save(registration, callbacks.worked(registration))
            return _told(world, notice, Verdict.DELIVERED)
        if answer.status == GONE:
            return _gone(world, notice, registration)
        trouble, asked_s = _refusal(answer.status), _asked(answer)
    fares = callbacks.failed(
        registration, trouble, world.clock.now(), chance=world.chance.fraction(), asked_ms=asked_s * 1000
    )
    world.callbacks.save(registration, fares)  # a lost race: somebody else has just said how it fares
    return _again(world, notice, fares, Verdict.FAILED)


def send(world: World, registration: Registration, event_id: str, body: bytes, *, most: int = 0) -> Response:
    """One signed request. Of the answer's body at most `most` bytes are read: its status says everything.

    Raises NotSent, NoAnswer, or UnsafeUrl for an address that may not be reached.
    """
    now = world.clock.now()
    stamp = now // 1000
    signatures = [
        sign_standard(secret.value, event_id, stamp, body) for secret in callbacks.in_force(registration, now)
    ]
    headers = {
        "Content-Type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(stamp),
        "webhook-signature": " ".join(signatures),
    }
    request = Request(method="POST", url=registration.address, headers=headers, body=body)
    return world.http.post(request, rules_for(world, registration.address), most=most)


def rules_for(world: World, address: str) -> LinkRules:
    """What may be reached: https at a public address; anything else only at hosts that the deployment names."""
    local = links.host_in(links.parse(address).host, world.settings.callback_hosts)
    return LinkRules(allow_http=local, allow_private=local)


def _gone(world: World, notice: Notice, registration: Registration) -> Verdict:
    """The receiver wants no more: its registration ends, and a person is shown the event."""
    world.callbacks.bury(notice, Verdict.GONE)
    for _ in range(TRIES):
        if world.callbacks.save(registration, callbacks.over(registration, Ended.GONE, world.clock.now())):
            listen(world)
            break
        now = world.callbacks.registration(notice.tenant)
        if now is None or now.ended or now.address != registration.address:
            break  # another event's 410 came first, or an operator's hand
        registration = now
    return _told(world, notice, Verdict.GONE)


def listen(world: World) -> None:
    """The topic sends what is registered. Looked at again after it was said: of two at once the last one is right."""
    told: tuple[str, ...] | None = None
    while (tenants := world.callbacks.registered()) != told:
        world.callbacks.listen(tenants)
        told = tenants


def _again(world: World, notice: Notice, registration: Registration, verdict: Verdict) -> Verdict:
    now = world.clock.now()
    if callbacks.expired(notice, now):
        world.callbacks.bury(notice, registration.trouble or Verdict.GIVEN_UP)
        return _told(world, notice, Verdict.GIVEN_UP)
    seconds = callbacks.wait_s(notice, registration, now, chance=world.chance.fraction())
    world.callbacks.later(notice, seconds)
    return _told(world, notice, verdict, seconds=seconds, trouble=registration.trouble)


def _told(world: World, notice: Notice, verdict: Verdict, **more: object) -> Verdict:
    world.metrics.count("Callbacks", verdict=str(verdict))
    world.log.info("callback", tenant=notice.tenant, event_id=notice.event_id, verdict=str(verdict), **more)
    return verdict


def _refusal(status: int) -> str:
    return f"answered {status}, a redirect, which is not followed" if status in _REDIRECTS else f"answered {status}"


def _asked(answer: Response) -> int:
    """Seconds that Retry-After asks for; its other form, a date, is not worth the trust."""
    text = answer.headers.get("retry-after", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0
