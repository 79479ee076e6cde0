// What is open or shut on the screen and is no part of a link.

export interface Switches {
  rawVerdicts: boolean;
  help: boolean;
  copied: boolean;
}

let now: Switches = { rawVerdicts: false, help: false, copied: false };
const listeners = new Set<(switches: Switches) => void>();

export const switches = (): Switches => now;

export function onSwitch(listener: (switches: Switches) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function turn(patch: Partial<Switches>): void {
  now = { ...now, ...patch };
  for (const listener of listeners) listener(now);
}

export const toggleRawVerdicts = (): void => turn({ rawVerdicts: !now.rawVerdicts });

export async function copyLink(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    // No clipboard for pages opened from a file in some browsers: the address bar has the link.
  }
  turn({ copied: true });
  setTimeout(() => turn({ copied: false }), 1500);
}
