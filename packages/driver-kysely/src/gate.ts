import { LooseleafError } from '@looseleaf/core'

/** Lets calls through until it is closed, and knows when the last of them has left. */
export interface Gate {
  /** Runs the work; rejects with `CLOSED` once `close` was called. */
  pass<T>(work: () => Promise<T>): Promise<T>
  /** Lets nobody in any more; resolves when nobody is inside. */
  close(): Promise<void>
}

export function createGate(): Gate {
  let inside = 0
  let closed = false
  const waiting: (() => void)[] = []

  return {
    async pass(work) {
      if (closed) throw new LooseleafError('CLOSED', 'The connections to the shards are closed.')
      inside++
      try {
        return await work()
      } finally {
        if (--inside === 0) for (const resolve of waiting.splice(0)) resolve()
      }
    },
    close() {
      closed = true
      if (inside === 0) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
  }
}
