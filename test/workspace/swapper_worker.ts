/**
 * Exchanges a directory with a link as fast as it can until it is told to stop, then reports how
 * often. Runs in a worker so that the exchanges fall between the steps of the main thread.
 */
/// <reference lib="deno.worker" />
let stopped = false;
self.onmessage = (event: MessageEvent<{ folder: string } | "stop">) => {
  if (event.data === "stop") {
    stopped = true;
    return;
  }
  const { folder } = event.data;
  let exchanges = 0;
  const batch = () => {
    for (let count = 0; count < 50; count++) {
      Deno.renameSync(`${folder}/d`, `${folder}/real`);
      takePlace(folder, "link");
      Deno.renameSync(`${folder}/d`, `${folder}/link`);
      takePlace(folder, "real");
      exchanges++;
    }
    if (stopped) self.postMessage(exchanges);
    else queueMacrotask(batch);
  };
  batch();
};

const channel = new MessageChannel();
let next: (() => void) | undefined;
channel.port1.onmessage = () => next?.();

function queueMacrotask(callback: () => void): void {
  next = callback;
  channel.port2.postMessage(null);
}

let made = 0;

/** Moves `name` to `d`. A write may have made a directory there meanwhile: that one steps aside. */
function takePlace(folder: string, name: string): void {
  for (;;) {
    try {
      return Deno.renameSync(`${folder}/${name}`, `${folder}/d`);
    } catch (error) {
      if (made > 100_000) throw error;
      Deno.renameSync(`${folder}/d`, `${folder}/../made-${made++}`);
    }
  }
}
