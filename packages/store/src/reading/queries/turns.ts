import { abortedError, MAX_SNAPSHOTS } from '@looseleaf/core/internal'

/** Lets as many calls hold snapshots at once as each shard has. So no call that holds one waits for another. */
export interface Turns {
  /** Runs the work when it has a turn. Rejects with `ABORTED` if the signal fires before. */
  pass<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result>
}

export function createTurns(limit: number = MAX_SNAPSHOTS): Turns {
  let running = 0
  const waiting = new Set<() => void>()

  function wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(enter)
        signal?.removeEventListener('abort', abort)
      }
      const enter = (): void => {
        leave()
        resolve()
      }
      const abort = (): void => {
        leave()
        reject(abortedError(signal))
      }
      signal?.addEventListener('abort', abort, { once: true })
      waiting.add(enter)
    })
  }

  return {
    async pass(work, signal) {
      // The call that ends hands its turn on.
      if (running < limit) running++
      else await wait(signal)
      try {
        return await work()
      } finally {
        const [next] = waiting
        if (next === undefined) running--
        else next()
      }
    },
  }
}
