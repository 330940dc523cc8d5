/* What a page is to the shell. To add one: a folder here with a module that exports a Page, and a
 * row in pages.ts. */

import type { Client } from "../api/client.js";

export interface PageContext {
  client: Client;
  /* aborted when the user leaves the page: cancels requests and listeners that use it */
  signal: AbortSignal;
  /* The address says `query` from now on; changes of one gesture are one entry of the history. */
  write(query: URLSearchParams, gesture: string): void;
  /* Say what was assumed on opening, without an entry of its own. */
  settle(query: URLSearchParams): void;
  /* Open another page. */
  go(page: string, query: URLSearchParams): void;
}

export interface PageView {
  element: HTMLElement;
  /* Show the state of the address: called after opening, on Back and Forward, and when the server
   * answers again after it was gone. */
  navigate(query: URLSearchParams): void;
}

export interface Page {
  /* its part of the address: #/name */
  name: string;
  title: string;
  open(context: PageContext): PageView;
}
