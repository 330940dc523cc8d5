/* All pages, in the order of the navigation; the first one is the start page. */

import { accuracyPage } from "./accuracy/page.js";
import { explorePage } from "./explore/page.js";
import { planPage } from "./plan/page.js";
import { simulatePage } from "./simulate/page.js";
import { tracesPage } from "./traces/page.js";
import type { Page } from "./page.js";

export const PAGES: readonly Page[] = [planPage, explorePage, simulatePage, tracesPage, accuracyPage];
