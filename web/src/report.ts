type Draw = (kind: string, data: unknown, element: HTMLElement) => void;
declare global {
  interface Window {
    halleyReport: Draw;
  }
}
window.halleyReport = (kind, _data, element) => {
  element.textContent = kind;
};
export {};
