/* Places for the names of points: labels avoid marks and each other. */

import { textWidth } from "./chart.js";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Placed {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

/* Offsets to try, nearest first. */
const OFFSETS: readonly [number, number, Placed["anchor"]][] = [
  [9, -6, "start"], [9, 14, "start"], [-9, -6, "end"], [-9, 14, "end"], [0, -13, "middle"], [0, 22, "middle"],
  [14, 4, "start"], [-14, 4, "end"], [16, -20, "start"], [-16, -20, "end"], [16, 28, "start"], [-16, 28, "end"],
  [24, -34, "start"], [24, 42, "start"], [-24, -34, "end"], [-24, 42, "end"],
];

export class LabelPlacer {
  constructor(private readonly room: Box, private readonly taken: Box[]) {}

  private isFree(box: Box): boolean {
    const r = this.room;
    if (box.x < r.x || box.x + box.w > r.x + r.w || box.y < r.y || box.y + box.h > r.y + r.h) return false;
    return !this.taken.some((t) => box.x < t.x + t.w && box.x + box.w > t.x && box.y < t.y + t.h && box.y + box.h > t.y);
  }

  /* A place for the words near (x, y), or null when all are taken. */
  place(words: string, x: number, y: number, px = 12): Placed | null {
    const w = textWidth(words, px) + 4;
    for (const [dx, dy, anchor] of OFFSETS) {
      const left = x + dx - (anchor === "end" ? w : anchor === "middle" ? w / 2 : 0);
      const box = { x: left, y: y + dy - 11, w, h: 15 };
      if (!this.isFree(box)) continue;
      this.taken.push(box);
      return { x: x + dx, y: y + dy, anchor };
    }
    return null;
  }
}
