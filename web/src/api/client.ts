/* Requests to the server. Every request is a document of `halley help json`; short ones answer at
 * once, long ones report progress and can be cancelled. A Lane holds one question that changes
 * (the plan behind the sliders): older requests are dropped, and answers never come out of order. */

export interface Failure {
  code: string;
  message: string;
  file?: string;
  line?: number;
  column?: number;
  hint?: string;
}

export interface Progress {
  what: string;
  noun: string;
  done: number;
  /* 0 = not known */
  total: number;
}

export interface RequestDocument {
  do: string;
  [key: string]: unknown;
}

/* The engine's refusal, in the words of the command line. */
export class HalleyError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
    this.name = "HalleyError";
  }
  get code(): string {
    return this.failure.code;
  }
}

/* The server does not answer, or refuses the token. */
export class ServerGone extends Error {
  constructor(readonly why: "unreachable" | "token" | "broken", message: string) {
    super(message);
    this.name = "ServerGone";
  }
}

export interface Options {
  signal?: AbortSignal;
  progress?: (progress: Progress) => void;
  /* called when the server answers 202: the work takes longer than 0.2 s */
  accepted?: () => void;
}

const TOKEN_KEY = "halley-token";

/* Take the token from the address, keep it for this tab, and remove it from the address bar. */
export function takeToken(): string | null {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given !== null) {
    keepToken(given);
    address.searchParams.delete("token");
    history.replaceState(history.state, "", address.pathname + address.search + address.hash);
    return given;
  }
  return sessionStorage.getItem(TOKEN_KEY);
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token);
}

type Listener = (gone: ServerGone | null) => void;

export class Client {
  private listeners: Listener[] = [];
  private gone = false;
  constructor(private token: string) {}

  setToken(token: string): void {
    this.token = token;
  }

  /* Called with the trouble when the server cannot be reached, and with null when it answers again. */
  onState(listener: Listener): void {
    this.listeners.push(listener);
  }

  private report(trouble: ServerGone | null): void {
    if (trouble === null && !this.gone) return;
    this.gone = trouble !== null;
    for (const listener of this.listeners) listener(trouble);
  }

  /* A call of the API with the token. */
  async call(path: string, init: RequestInit = {}): Promise<Response> {
    let response: Response;
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${this.token}`);
    try {
      response = await fetch(path, { ...init, headers, cache: "no-store" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      const trouble = new ServerGone("unreachable", "The server does not answer.");
      this.report(trouble);
      throw trouble;
    }
    if (response.status === 401) {
      const trouble = new ServerGone("token", "The server does not accept this token.");
      this.report(trouble);
      throw trouble;
    }
    this.report(null);
    return response;
  }

  /* Carry out one request; resolves with its result, rejects with HalleyError or ServerGone. */
  async request<T>(document: RequestDocument, options: Options = {}): Promise<T> {
    const init: RequestInit = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(document),
    };
    if (options.signal) init.signal = options.signal;
    const response = await this.call("/api/request", init);
    const reply = await readReply(response);
    if (response.status === 202 && typeof reply["id"] === "string") {
      options.accepted?.();
      return unwrap<T>(await this.follow(reply["id"], options));
    }
    return unwrap<T>(reply);
  }

  /* Read the events of a long request until its reply; aborting cancels the work. */
  private async follow(id: string, options: Options): Promise<Record<string, unknown>> {
    const path = `/api/events/${encodeURIComponent(id)}`;
    const cancel = (): void => {
      void this.call(path, { method: "DELETE" }).catch(() => undefined);
    };
    options.signal?.addEventListener("abort", cancel, { once: true });
    try {
      const init: RequestInit = {};
      if (options.signal) init.signal = options.signal;
      const response = await this.call(path, init);
      if (!response.ok || response.body === null) throw new ServerGone("broken", "The server forgot the request.");
      for await (const event of readEvents(response.body)) {
        if (event.name === "progress") options.progress?.(JSON.parse(event.data) as Progress);
        if (event.name === "reply") return JSON.parse(event.data) as Record<string, unknown>;
      }
      const trouble = new ServerGone("unreachable", "The server ended the connection.");
      if (!options.signal?.aborted) this.report(trouble);
      throw trouble;
    } finally {
      options.signal?.removeEventListener("abort", cancel);
    }
  }
}

async function readReply(response: Response): Promise<Record<string, unknown>> {
  try {
    return (await response.json()) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ServerGone("broken", `The server answered ${response.status} with something that is not JSON.`);
  }
}

function unwrap<T>(reply: Record<string, unknown>): T {
  if (reply["ok"] === true) return reply["result"] as T;
  const failure = reply["error"] as Failure | undefined;
  throw new HalleyError(failure ?? { code: "internal", message: "The server refused the request." });
}

interface ServerEvent {
  name: string;
  data: string;
}

/* The events of a text/event-stream. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      let end: number;
      rest = rest.replaceAll("\r\n", "\n");
      while ((end = rest.indexOf("\n\n")) >= 0) {
        const event = parseEvent(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (event !== null) yield event;
      }
      if (done) return;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function parseEvent(block: string): ServerEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return data.length === 0 ? null : { name, data: data.join("\n") };
}

/* One question that changes. A new request waits for the one in flight while that is quick, so
 * that figures follow a moving slider; it cancels one that takes long. Of waiting requests only
 * the newest is kept. */
export class Lane<T> {
  private running: { abort: AbortController; slow: boolean } | null = null;
  private waiting: (() => void) | null = null;
  private generation = 0;
  constructor(private client: Client) {}

  /* Drop everything: nothing of this lane calls back any more. */
  drop(): void {
    this.generation += 1;
    this.waiting = null;
    this.running?.abort.abort();
    this.running = null;
  }

  /* `answered` and `failed` are called at most once, and never after a newer call's. */
  ask(
    document: RequestDocument,
    answered: (result: T, newest: boolean) => void,
    failed: (error: HalleyError | ServerGone, newest: boolean) => void,
    options: Omit<Options, "signal"> = {},
  ): void {
    this.waiting = () => void this.run(document, answered, failed, options);
    if (this.running === null) this.next();
    else if (this.running.slow) this.running.abort.abort();
  }

  private next(): void {
    const start = this.waiting;
    this.waiting = null;
    start?.();
  }

  private async run(
    document: RequestDocument,
    answered: (result: T, newest: boolean) => void,
    failed: (error: HalleyError | ServerGone, newest: boolean) => void,
    options: Omit<Options, "signal">,
  ): Promise<void> {
    const mine = { abort: new AbortController(), slow: false };
    const generation = this.generation;
    const alive = (): boolean => generation === this.generation && !mine.abort.signal.aborted;
    this.running = mine;
    const accepted = (): void => {
      mine.slow = true;
      options.accepted?.();
      if (this.waiting !== null) mine.abort.abort();
    };
    try {
      const result = await this.client.request<T>(document, { ...options, accepted, signal: mine.abort.signal });
      if (alive()) answered(result, this.waiting === null);
    } catch (error) {
      if (alive()) failed(asFailure(error), this.waiting === null);
    } finally {
      if (this.running === mine) {
        this.running = null;
        this.next();
      }
    }
  }
}

export function asFailure(error: unknown): HalleyError | ServerGone {
  if (error instanceof HalleyError || error instanceof ServerGone) return error;
  return new ServerGone("broken", error instanceof Error ? error.message : String(error));
}
