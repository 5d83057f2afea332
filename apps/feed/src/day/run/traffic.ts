import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from './browser.ts'
import type { Program } from './programs.ts'

/** Pause before a request is sent again, because the process of the site is down. */
const AGAIN_MS = 100
/** Requests are sent again for this time. */
const GIVE_UP_MS = 60_000
/** Failures that a report describes. */
const DESCRIBED = 5

/** Outcomes of all requests of a run. */
export interface TrafficCounts {
  /** Requests that failed although the process of the site was up from their beginning to their end. */
  failed: number
  /** Requests that were sent again, because the process was killed or not up yet. */
  repeated: number
  /** Answers with a status of 500 or above. */
  status5xx: number
  /** Forms that were refused with such a status while a shard was stopped on purpose. */
  refusedForms: number
  /** Pages that say that a part of their data is missing. */
  partial: number
  /** Statements of all pages, by their feet. */
  statements: number
}

/** Sends the requests of a run, and counts their outcomes. */
export interface Traffic {
  readonly counts: Readonly<TrafficCounts>
  /** The first failures, for people. */
  readonly failures: readonly string[]
  /** True while a shard is stopped on purpose: a failed form is then refused, and not a failure. */
  isBroken: boolean
  /** Ends when the run ends: requests are sent no more. */
  readonly signal: AbortSignal
  /** Sends a request until the process of the site answers. Returns undefined if it fails. */
  send(name: string, expected: number, request: () => Promise<Answer>): Promise<Answer | undefined>
}

export function createTraffic(web: Program, signal: AbortSignal): Traffic {
  const counts = { failed: 0, repeated: 0, status5xx: 0, refusedForms: 0, partial: 0, statements: 0 }
  const failures: string[] = []

  function fail(name: string, reason: string): undefined {
    counts.failed++
    if (failures.length < DESCRIBED) failures.push(`${name}: ${reason}`)
  }

  return {
    counts,
    failures,
    isBroken: false,
    signal,
    async send(name, expected, request) {
      const giveUp = performance.now() + GIVE_UP_MS
      for (;;) {
        if (signal.aborted) return undefined
        const began = performance.now()
        const wasBroken = this.isBroken
        const answer = await request().catch((error: unknown) =>
          error instanceof Error ? error : new Error(String(error)),
        )
        if (answer instanceof Error) {
          if (web.wasUpSince(began)) return fail(name, String(answer.cause ?? answer))
          if (began > giveUp) return fail(name, 'The site did not come back.')
          counts.repeated++
          await sleep(AGAIN_MS)
          continue
        }
        if (expected === 200) countPage(answer)
        if (answer.status === expected) return answer
        if (answer.status >= 500 && expected !== 200 && (wasBroken || this.isBroken)) {
          counts.refusedForms++
          return undefined
        }
        return fail(name, `status ${answer.status}`)
      }
    },
  }

  function countPage({ status, text }: Answer): void {
    if (status >= 500) counts.status5xx++
    if (PARTIAL.test(text)) counts.partial++
    counts.statements += Number(/in (\d+) statements?/.exec(text)?.[1] ?? 0)
  }
}

/** The bar of a page that lacks data of a shard. */
const PARTIAL = /<p class="missing" role="status"/
