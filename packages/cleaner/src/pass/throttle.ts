import { LooseleafError, type Time } from '@looseleaf/core'

/** Spreads reading over time. One throttle may serve many passes; they share its rate. */
export interface Throttle {
  /** Resolves when so many rows that were just read are paid for. Rejects with `ABORTED` when the signal fires. */
  take(rows: number, signal: AbortSignal | undefined): Promise<void>
  /** Rows a page should have at the most, so that no wait is longer than about a second. */
  readonly maxPage: number
}

/** Without a rate nothing ever waits. */
export function createThrottle(time: Time, rowsPerSecond: number | undefined): Throttle {
  if (rowsPerSecond === undefined) return { take: () => Promise.resolve(), maxPage: Infinity }
  if (!(rowsPerSecond > 0)) {
    throw new LooseleafError('BAD_OPTION', '`rowsPerSecond` has to be a number above 0.')
  }
  /** When everything taken so far is paid for. */
  let paidAt = 0
  return {
    maxPage: Math.max(1, Math.floor(rowsPerSecond)),
    async take(rows, signal) {
      const now = time.now()
      paidAt = Math.max(paidAt, now) + (rows / rowsPerSecond) * 1000
      if (paidAt > now) await time.sleep(paidAt - now, signal)
    },
  }
}
