/* Files between the browser and the server's temporary folder. */

import { type Client, HalleyError, type Failure } from "./client.js";

export interface StoredFile {
  path: string;
  bytes: number;
}

/* Upload a file; the path may be used wherever a request takes one. */
export async function uploadFile(client: Client, file: Blob, name: string, signal?: AbortSignal): Promise<string> {
  const init: RequestInit = { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } };
  if (signal) init.signal = signal;
  const response = await client.call(`/api/files?name=${encodeURIComponent(name)}`, init);
  const reply = (await response.json()) as { ok: boolean; path?: string; error?: Failure };
  if (!reply.ok || reply.path === undefined) {
    throw new HalleyError(reply.error ?? { code: "bad-file", message: `${name} could not be uploaded` });
  }
  return reply.path;
}

/* A file of the server's folder, as the browser saves it. */
export async function downloadFile(client: Client, path: string, name: string): Promise<void> {
  const response = await client.call(`/api/files/${path.split("/").map(encodeURIComponent).join("/")}`);
  if (!response.ok) throw new HalleyError({ code: "not-found", message: `${path} is not there` });
  saveBlob(await response.blob(), name);
}

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* Text of a stored file, for pages that read it themselves. */
export async function readFile(client: Client, path: string): Promise<Response> {
  return client.call(`/api/files/${path.split("/").map(encodeURIComponent).join("/")}`);
}
