// Follow one job while it happens, in a browser: progress comes over a socket, the truth from reading the job.
//
//   import { follow } from "./live_progress.mjs";
//   const job = await follow({
//     getJob: () => fetch(`/my/jobs/${id}`).then((answer) => answer.json()),   // your server holds the API key
//     onChange: (job, how) => { bar.value = job.progress; },                   // how: "read" or "heard"
//   });
//
// `getJob` gives what GET /v1/jobs/{id} answers, `live` in it. No API key comes near the browser: the token in `live`
// opens this one job's channel for an hour. A new one is fetched, and a new socket opened with it, before it ends.
// Where the socket drops, the job is read until it is back; a read that fails for a moment does not end the watch.

const ENDED = ["succeeded", "failed", "canceled"];

// Milliseconds.
const PATIENCE = {
  poll: 2_000, // between reads while there is no socket
  quiet: 30_000, // without an event, after which the job is read
  renew: 300_000, // before its end, a token is replaced
  retry: 1_000, // before a socket is opened again; doubled each time it fails
  retryMost: 30_000, // and how long a socket is kept at least, whatever this machine's clock says of its token
  reads: 6, // in a row that may fail, with growing waits between them, before this gives up
  answer: 15_000, // for the socket's own questions
};

/** Resolves with the job once it has ended. Rejects where `getJob` does so again and again, or `signal` aborts. */
export async function follow({ getJob, onChange = () => {}, signal, patience = {} }) {
  const limits = { ...PATIENCE, ...patience };
  const view = new View(() => patiently(getJob, limits, signal), onChange);
  let wait = limits.retry;
  let retryAt = 0;
  await view.read();
  while (!view.ended) {
    signal?.throwIfAborted();
    if (view.job.live && Date.now() >= retryAt) {
      const started = Date.now();
      try {
        await listen(view, limits, signal);
      } catch (error) {
        if (!(error instanceof Dropped)) throw error;
        wait = Date.now() - started > limits.quiet ? limits.retry : Math.min(wait * 2, limits.retryMost);
        retryAt = Date.now() + wait * (0.5 + Math.random() / 2);
      }
    } else {
      await pause(limits.poll);
    }
    await view.read();
  }
  return view.job;
}

/** Until the job has ended; throws Dropped. A new socket is open before the old one is closed. */
async function listen(view, limits, signal) {
  let socket = await open(view, limits, signal);
  try {
    while (!view.ended) {
      signal?.throwIfAborted();
      const left = socket.renewAt - Date.now();
      if (left <= 0) {
        await view.read();
        if (!view.job.live) return;
        const old = socket;
        socket = await open(view, limits, signal);
        old.close();
        continue;
      }
      const event = await socket.next(Math.min(left, limits.quiet));
      await (event === null ? view.read() : view.hear(event));
    }
  } finally {
    socket.close();
  }
}

async function open(view, limits, signal) {
  const { live } = view.job;
  const socket = new Channel(live, signal);
  try {
    await socket.subscribe(live.channel, limits.answer);
    await view.read(); // what was told before anybody listened
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.renewAt = Math.max(Date.parse(live.expires_at) - limits.renew, Date.now() + limits.retryMost);
  return socket;
}

/** The line that took the socket away takes the next reads with it. */
async function patiently(getJob, limits, signal) {
  for (let failed = 1; ; failed += 1) {
    signal?.throwIfAborted();
    try {
      const job = await getJob();
      if (!job?.history?.length) throw new Error("getJob did not give a job");
      return job;
    } catch (error) {
      if (failed >= limits.reads) throw error;
      await pause(Math.min(limits.retry * 2 ** failed, limits.retryMost) * (0.5 + Math.random() / 2));
    }
  }
}

/** The socket is of no use any more: refused, closed, or silent beyond what was agreed. */
class Dropped extends Error {}

/** What is read and what is heard, in one view in which nothing goes back. */
class View {
  #getJob;
  #onChange;
  #version = 0;
  #progress = 0;
  job = {};

  constructor(getJob, onChange) {
    this.#getJob = getJob;
    this.#onChange = onChange;
  }

  get ended() {
    return ENDED.includes(this.job.status);
  }

  async read() {
    const job = await this.#getJob();
    this.#version = Math.max(this.#version, job.history.at(-1).version ?? 0);
    this.#take(job, "read");
  }

  async hear(event) {
    if (this.ended || event.version < this.#version) return; // out of date
    this.#version = event.version;
    const asked = this.job.attention?.reason ?? null;
    if (event.final || event.attention !== asked) return this.read(); // with its results, or with what is asked
    const { status, stage, provider_stage, progress } = event;
    this.#take({ ...this.job, status, stage, provider_stage, progress: progress ?? 0 }, "heard");
  }

  #take(job, how) {
    this.#progress = Math.max(this.#progress, job.progress ?? 0);
    this.job = { ...job, progress: this.#progress };
    this.#onChange(this.job, how);
  }
}

/** A connection of the protocol aws-appsync-event-ws. */
class Channel {
  #socket;
  #shown;
  #silence = 300_000;
  #aliveAt = Date.now();
  #heard = []; // messages that nobody has asked for yet
  #waiting = null;
  #dropped = null;

  constructor(live, signal) {
    signal?.addEventListener("abort", () => this.#arrived(null), { once: true });
    const host = new URL(live.endpoint).host.replace(".appsync-realtime-api.", ".appsync-api.");
    this.#shown = { host, Authorization: live.token };
    const header = btoa(JSON.stringify(this.#shown)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    this.#socket = new WebSocket(live.endpoint, ["aws-appsync-event-ws", `header-${header}`]);
    this.#socket.onopen = () => this.#socket.send(JSON.stringify({ type: "connection_init" }));
    this.#socket.onmessage = ({ data }) => this.#arrived(JSON.parse(data));
    this.#socket.onclose = () => this.#arrived(null);
    this.#socket.onerror = () => this.#arrived(null);
  }

  async subscribe(channel, limit) {
    const { connectionTimeoutMs } = await this.#answer("connection_ack", limit);
    this.#silence = connectionTimeoutMs ?? this.#silence;
    this.#socket.send(JSON.stringify({ type: "subscribe", id: "job", channel, authorization: this.#shown }));
    await this.#answer("subscribe_success", limit);
  }

  /**
   * The next event; null where none came within the time. Throws Dropped for a line that has gone dead without a word:
   * signs of life, which AppSync sends where it has no event, do not come any more.
   */
  async next(milliseconds) {
    const end = Date.now() + milliseconds;
    for (let left; (left = end - Date.now()) > 0; ) {
      const silent = this.#aliveAt + this.#silence - Date.now();
      const message = await this.#receive(Math.min(left, silent));
      if (message === null && silent <= left) throw new Dropped("not even a sign of life");
      if (message?.type === "data") return JSON.parse(Array.isArray(message.event) ? message.event[0] : message.event);
    }
    return null;
  }

  close() {
    this.#socket.onmessage = this.#socket.onclose = this.#socket.onerror = null;
    this.#socket.close();
  }

  async #answer(wanted, limit) {
    const end = Date.now() + limit;
    for (let left; (left = end - Date.now()) > 0; ) {
      const message = await this.#receive(left);
      if (message?.type === wanted) return message;
      if (message?.type?.endsWith("error")) throw new Dropped(JSON.stringify(message.errors));
    }
    throw new Dropped(`no ${wanted}`);
  }

  #arrived(message) {
    if (message === null) this.#dropped = new Dropped("closed");
    else {
      this.#aliveAt = Date.now();
      this.#heard.push(message);
    }
    this.#waiting?.();
  }

  async #receive(milliseconds) {
    if (!this.#heard.length && !this.#dropped) {
      let timer;
      await new Promise((resolve) => {
        this.#waiting = resolve;
        timer = setTimeout(resolve, milliseconds);
      });
      clearTimeout(timer);
      this.#waiting = null;
    }
    if (this.#heard.length) return this.#heard.shift();
    if (this.#dropped) throw this.#dropped;
    return null;
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
