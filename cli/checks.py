"""What `cli.doctor` looks at. Each check reads and answers with findings; none changes anything."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from cli.deployed import Deployed
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.providers.config import Provider
from mediajobs.adapters.providers.proving import WITHOUT_SECRETS, check_secrets
from mediajobs.adapters.secrets import ManagedSecrets
from mediajobs.clock import SystemChance, SystemClock
from mediajobs.errors import MediaJobsError

# Functions other than dispatch need room too: webhook, the API, store, relay.
SPARE = 10
# So many AWS keeps out of every reservation.
KEPT_BACK = 100
EXPIRY = {"TableName": "ttl", "IdempotencyTableName": "expiration"}
RUNNING = ("Enabled", "Enabling", "Creating", "Updating")
MOST = 100


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    FAULT = "FAULT"


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what was found, and what to do about it."""

    level: Level
    subject: str
    text: str


def concurrency(it: Deployed) -> Iterator[Finding]:
    """Whether submissions have the room they are to have, and leave enough for webhooks and the API."""
    functions, parameters = it.client("lambda"), it.stack.parameters
    limits = functions.get_account_settings()["AccountLimit"]
    quota, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    name = it.stack.outputs["DispatchFunctionName"]
    reserved = functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
    wanted = int(parameters.get("DispatchConcurrency", "0")) or int(parameters["MaxInFlight"])
    shown = f"the account's quota is {quota}"
    if parameters.get("ReserveConcurrency", "true") == "true":
        if reserved == wanted:
            yield Finding(Level.OK, "concurrency", f"{shown}: {reserved} reserved for dispatch, {free} for the rest")
        else:
            text = f"dispatch should have {wanted} reserved and has {reserved or 'none'}; deploy again"
            yield Finding(Level.FAULT, "concurrency", text)
    elif quota - wanted < SPARE:
        text = (
            f"{shown} and nothing is reserved: {wanted} submissions at once leave {max(0, quota - wanted)} for "
            "webhooks and the API. Ask for a higher quota (Service Quotas, AWS Lambda, Concurrent executions; it costs "
            'nothing), or deploy with PARAMETERS="ReserveConcurrency=false DispatchConcurrency=2"'
        )
        yield Finding(Level.NOTE, "concurrency", text)
    elif free - wanted >= KEPT_BACK:
        text = f'{shown}, enough to reserve: deploy with PARAMETERS="ReserveConcurrency=true"'
        yield Finding(Level.NOTE, "concurrency", text)
    else:
        yield Finding(Level.OK, "concurrency", f"{shown}; nothing is reserved, as ReserveConcurrency=false says")


def secrets(it: Deployed) -> Iterator[Finding]:
    """Whether each provider's secret is there and of use, as the functions will find it."""
    prefix = it.stack.outputs["ProviderSecretPrefix"]
    kept = ManagedSecrets(
        it.client("secretsmanager"), SystemClock(), provider_prefix=prefix, tokens=f"{it.stack.name}/tokens"
    )
    try:
        kept.tokens()
    except MediaJobsError as error:
        yield Finding(Level.FAULT, "secret", str(error))
    for name, provider in it.providers.providers.items():
        try:
            found = kept.provider(name)
            fault = _webhook_fault(found.get("webhook_secrets"), provider)
        except MediaJobsError as error:
            fault = str(error)
        if fault:
            yield Finding(Level.FAULT, "secret", f"{name}: {fault}")
        else:
            yield Finding(Level.OK, "secret", f"{name}: {prefix}{name} is there and can be used")
        if (urlsplit(provider.base_url).hostname or "").endswith("example.com"):
            text = f"{name} is the pattern that is shipped: nobody answers at {provider.base_url}"
            yield Finding(Level.NOTE, "provider", text)


def _webhook_fault(found: object, provider: Provider) -> str:
    """What keeps this provider's webhooks from being verified; raises ConfigurationError for an unusable secret."""
    if provider.webhook is None:
        return ""
    if provider.webhook.strategy in WITHOUT_SECRETS:
        return ""
    if not isinstance(found, list) or not found:
        return "its webhooks cannot be verified: put at least one secret into webhook_secrets"
    check_secrets(provider.webhook, found)
    return ""


def alarms(it: Deployed) -> Iterator[Finding]:
    """Whether anybody is told, and of what just now."""
    topic = it.stack.outputs["AlarmTopicArn"]
    pages = it.client("sns").get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic)
    told = [each for page in pages for each in page["Subscriptions"]]
    waiting = [each["Endpoint"] for each in told if each["SubscriptionArn"] == "PendingConfirmation"]
    if not told:
        text = 'nobody is told: deploy with PARAMETERS="AlarmEmail=you@your.domain", or subscribe to AlarmTopicArn'
        yield Finding(Level.NOTE, "alarms", text)
    for endpoint in waiting:
        yield Finding(Level.FAULT, "alarms", f"{endpoint} has not confirmed; the link is in a mail from AWS")
    if len(told) > len(waiting):
        yield Finding(Level.OK, "alarms", f"{len(told) - len(waiting)} confirmed")
    names = [name for logical, name in it.stack.resources.items() if logical.endswith("Alarm")]
    for alarm in it.client("cloudwatch").describe_alarms(AlarmNames=names)["MetricAlarms"]:
        if alarm["StateValue"] == "ALARM":
            yield Finding(Level.NOTE, "alarms", f"{alarm['AlarmName']} is on: {alarm['AlarmDescription']}")


def webhooks(it: Deployed) -> Iterator[Finding]:
    """Whether a provider could reach us: an unsigned event must get our own refusal."""
    base = it.stack.outputs["WebhookUrlPattern"].removesuffix("/{provider}/{ref}")
    address = urlsplit(base)
    providers = it.providers.providers
    calling = [name for name, provider in providers.items() if provider.webhook is not None]
    if not calling:
        yield Finding(Level.OK, "webhooks", "no provider is configured to call back; jobs are polled")
        return
    if _is_local(address.hostname or ""):
        yield Finding(Level.NOTE, "webhooks", f"{base} is an address of this machine; only what runs here can call it")
    elif address.scheme != "https":
        yield Finding(Level.FAULT, "webhooks", f"{base} is not https: set PublicBaseUrl to an https:// address")
    try:
        status, body = it.get(f"{base}/{calling[0]}", b"{}")
    except OSError as error:
        text = f"nothing answers at {base} ({error}): check PublicBaseUrl, its DNS and its certificate"
        yield Finding(Level.FAULT, "webhooks", text)
        return
    if b"urn:mediajobs:problem:" in body:
        yield Finding(Level.OK, "webhooks", f"{base} answers, and refuses what is not signed ({status})")
    else:
        text = f"{base} answers {status}, but not as this API: does PublicBaseUrl lead to its stage?"
        yield Finding(Level.FAULT, "webhooks", text)
    for name in calling:
        submit = providers[name].submit
        if not submit.webhook_field and not submit.webhook_query:
            yield Finding(Level.NOTE, "webhooks", f"{name}: register {base}/{name} in the account there")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def tables(it: Deployed) -> Iterator[Finding]:
    """Whether old items expire, and whether the job table can be restored."""
    dynamodb = it.client("dynamodb")
    for output, attribute in EXPIRY.items():
        name = it.stack.outputs[output]
        found = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if found["TimeToLiveStatus"] in ("ENABLED", "ENABLING") and found.get("AttributeName") == attribute:
            yield Finding(Level.OK, "table", f"{name}: items expire by {attribute}")
        else:
            text = f"{name}: nothing expires; turn time to live on for the attribute {attribute}, or deploy again"
            yield Finding(Level.FAULT, "table", text)
    name = it.stack.outputs["TableName"]
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
        yield Finding(Level.NOTE, "table", f"{name}: no point-in-time recovery, so it cannot be restored")


def sources(it: Deployed) -> Iterator[Finding]:
    """Whether what starts the functions is on, and what has been given up."""
    functions, off = it.client("lambda"), []
    for name in ("Relay", "Dispatch", "Store"):
        physical = it.stack.outputs[f"{name}FunctionName"]
        mappings = functions.list_event_source_mappings(FunctionName=physical)["EventSourceMappings"]
        if not any(each["State"] in RUNNING for each in mappings):
            off.append(name.lower())
    schedule = it.stack.resources["ReconcileTicks"]
    if it.client("scheduler").get_schedule(Name=schedule)["State"] != "ENABLED":
        off.append("reconcile")
    for name in off:
        text = f"nothing starts {name}: its event source or schedule is off; turn it on, or deploy again"
        yield Finding(Level.FAULT, "start", text)
    if not off:
        yield Finding(Level.OK, "start", "queues, stream and schedule start their functions")
    attribute = "ApproximateNumberOfMessages"
    url = it.stack.outputs["DeadLetterQueueUrl"]
    given_up = it.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[attribute])["Attributes"]
    if int(given_up[attribute]):
        text = f"{given_up[attribute]} messages in the dead-letter queue; docs/operations.md says how to read them"
        yield Finding(Level.NOTE, "start", text)


def waiting(it: Deployed) -> Iterator[Finding]:
    """What waits for a person: open questions, paused providers."""
    table = it.stack.outputs["TableName"]
    store = DynamoStore(it.client("dynamodb"), table, clock=SystemClock(), chance=SystemChance())
    page = store.list_attention(MOST, None)
    if page.ids:
        more = " or more" if page.cursor else ""
        text = f"{len(page.ids)}{more} open: GET /v1/jobs?attention=true with an operator's key lists them"
        yield Finding(Level.NOTE, "attention", text)
    for name in it.providers.providers:
        pause = store.provider(name).pause
        if pause.reason is not None:
            text = f"{name} is paused ({pause.reason}): GET /v1/providers/{name} says until when and why"
            yield Finding(Level.NOTE, "provider", text)


CHECKS = (concurrency, secrets, webhooks, alarms, tables, sources, waiting)
