import type { Entity, Time } from '@looseleaf/core'
import { inBackground } from '@looseleaf/core/internal'
import { expiryOf } from '@looseleaf/index-engine/internal'

/** Waits for the next expiry of the items of a page. Does not keep the process alive. */
export interface ExpiryTimer {
  /** Calls `onExpired` once, when the first of these items has expired. Replaces the items of an earlier call. */
  await(items: readonly Entity[]): void
  stop(): void
}

/** Longest sleep, so that a clock which is set forward is noticed. */
const LOOK_MS = 1_000

/** `expires` is the path of the time at which an item expires, by the clock of the process; undefined if none does. */
export function createExpiryTimer(
  processTime: Time,
  expires: string | undefined,
  onExpired: () => void,
): ExpiryTimer {
  const time = inBackground(processTime)
  let waiting: AbortController | undefined

  async function wait(until: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = until - time.now()
      if (left <= 0) break
      await time.sleep(Math.min(left, LOOK_MS), signal)
    }
    onExpired()
  }

  function stop(): void {
    waiting?.abort()
    waiting = undefined
  }

  return {
    await(items) {
      stop()
      if (expires === undefined) return
      const until = Math.min(Infinity, ...items.map((item) => expiryOf(item, expires)))
      if (!Number.isFinite(until)) return
      waiting = new AbortController()
      // A sleep that is aborted rejects.
      wait(until, waiting.signal).catch(() => {})
    },
    stop,
  }
}
