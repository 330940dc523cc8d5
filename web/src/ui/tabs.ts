/* A list of tabs: arrows move, panels follow. */

import { el, fill, uniqueId } from "../base/dom.js";

export interface Tab {
  name: string;
  panel: HTMLElement;
}

export interface Tabs {
  list: HTMLElement;
  select(name: string): void;
  selected(): string;
}

export function tabList(label: string, tabs: readonly Tab[], changed: (name: string) => void = () => undefined): Tabs {
  const buttons = tabs.map((tab) => {
    const id = uniqueId("tab");
    tab.panel.id ||= `${id}-panel`;
    tab.panel.setAttribute("role", "tabpanel");
    tab.panel.setAttribute("aria-labelledby", id);
    return el("button", { type: "button", role: "tab", id, "aria-controls": tab.panel.id }, tab.name);
  });
  let current = 0;
  const select = (index: number): void => {
    current = index;
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === index));
      button.tabIndex = i === index ? 0 : -1;
      tabs[i]!.panel.hidden = i !== index;
    });
  };
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => {
      select(i);
      changed(tabs[i]!.name);
    });
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = (i + step + tabs.length) % tabs.length;
      select(next);
      buttons[next]!.focus();
      changed(tabs[next]!.name);
    });
  });
  const list = el("div", { class: "seg", role: "tablist", "aria-label": label });
  fill(list, buttons);
  select(0);
  return {
    list,
    select: (name) => select(Math.max(0, tabs.findIndex((t) => t.name === name))),
    selected: () => tabs[current]!.name,
  };
}
