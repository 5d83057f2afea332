import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from './browser.ts'
import type { Traffic } from './traffic.ts'

export interface VisitsOptions {
  readonly url: string
  readonly browsers: readonly Browser[]
  readonly traffic: Traffic
  /** Visits in a second. */
  readonly perSecond: number
}

export interface Visit {
  /** Time at which it was due, in milliseconds of `performance.now()`. */
  readonly due: number
  /** Milliseconds from then to the end of the page. */
  readonly ms: number
}

export interface Visits {
  /** The visits whose page has arrived, in the order of their ends. */
  readonly done: readonly Visit[]
  /** Makes no further visits, and waits for those under way. */
  stop(): Promise<void>
}

/**
 * Visits homes at a steady rate, one reader after the other. A slow page delays no later visit, and the latency of each counts from the
 * time at which it was due.
 */
export function startVisits({ url, browsers, traffic, perSecond }: VisitsOptions): Visits {
  const done: Visit[] = []
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, traffic.signal])
  const loop = run()

  async function run(): Promise<void> {
    const start = performance.now()
    for (let i = 0; ; i++) {
      const due = start + (i * 1_000) / perSecond
      await sleep(Math.max(0, due - performance.now()), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const visiting: Promise<void> = visit(browsers[i % browsers.length] as Browser, due).finally(() =>
        running.delete(visiting),
      )
      running.add(visiting)
    }
  }

  async function visit(browser: Browser, due: number): Promise<void> {
    const answer = await traffic.send('home', 200, () => browser.get(url))
    if (answer !== undefined) done.push({ due, ms: performance.now() - due })
  }

  return {
    done,
    async stop() {
      stopping.abort()
      await loop
      await Promise.all(running)
    },
  }
}
