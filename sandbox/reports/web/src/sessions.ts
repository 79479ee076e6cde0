// Sessions out of the file, or out of the folder beside it: found by name, unpacked, the last few kept.

import type { Session } from "./format";

const KEPT = 8;
const kept = new Map<string, Promise<Session>>();
const NAME = /^[A-Z]-[0-9]{4,}$/;

export class Missing extends Error {}

/** Resolves when the whole file is there. */
export const loaded: Promise<void> =
  document.readyState === "loading"
    ? new Promise((resolve) => document.addEventListener("DOMContentLoaded", () => resolve(), { once: true }))
    : Promise.resolve();

/** After loading: whether the file ends as it was written. */
export const whole = (): boolean => document.getElementById("pc-end") !== null;

export function session(name: string, folder: string | null): Promise<Session> {
  const known = kept.get(name);
  if (known) {
    kept.delete(name);
    kept.set(name, known);
    return known;
  }
  const made = read(name, folder).catch((error: unknown) => {
    kept.delete(name);
    throw error;
  });
  kept.set(name, made);
  for (const oldest of [...kept.keys()].slice(0, -KEPT)) kept.delete(oldest);
  return made;
}

/** The session without keeping it: for a search through all of them. */
export async function read(name: string, folder: string | null): Promise<Session> {
  return JSON.parse(await inflated(folder === null ? await packed(name) : await fromFolder(name, folder))) as Session;
}

async function packed(name: string): Promise<string> {
  let element = document.getElementById(`pc-${name}`);
  // While the parser is still at work the element may be there, and its text not yet whole.
  if (!element?.nextSibling) {
    await loaded;
    element = document.getElementById(`pc-${name}`);
  }
  if (!element) throw new Missing("This session is not in the file: the file was cut off.");
  return element.textContent ?? "";
}

async function inflated(base64: string): Promise<string> {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  try {
    return await new Response(stream).text();
  } catch {
    throw new Missing("This session cannot be unpacked: the file was cut off or changed here.");
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  try {
    if (native) return native.call(Uint8Array, base64);
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    throw new Missing("This session is cut off in the middle: the file is not whole.");
  }
}

const waiting = new Map<string, (base64: string) => void>();

interface Policy {
  createScriptURL(url: string): string;
}
let policy: Policy | null = null;

/** Lets through only names of the form NAME.data/pc-A-0017.js. */
function folderPolicy(folder: string): Policy {
  const makes = (url: string): string => {
    const [, name] = /^[^/]+\/pc-(.+)\.js$/.exec(url) ?? [];
    if (url !== `${encodeURIComponent(folder)}/pc-${name}.js` || !NAME.test(name ?? "")) throw new TypeError("not a session");
    return url;
  };
  const types = (window as unknown as { trustedTypes?: { createPolicy(name: string, rules: object): Policy } }).trustedTypes;
  return types ? types.createPolicy("pincite-folder", { createScriptURL: makes }) : { createScriptURL: makes };
}

function fromFolder(name: string, folder: string): Promise<string> {
  policy ??= folderPolicy(folder);
  (window as unknown as { pincite: (name: string, base64: string) => void }).pincite = (given, base64) => waiting.get(given)?.(base64);
  const url = policy.createScriptURL(`${encodeURIComponent(folder)}/pc-${name}.js`);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const done = () => {
      waiting.delete(name);
      script.remove();
    };
    waiting.set(name, (base64) => {
      done();
      resolve(base64);
    });
    script.onerror = () => {
      done();
      reject(new Missing(`The folder ${folder} must lie beside this page: its session ${name} cannot be read.`));
    };
    script.src = url;
    document.body.append(script);
  });
}
