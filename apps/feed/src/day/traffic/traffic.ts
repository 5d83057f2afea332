import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from './browser.ts'
import type { Program } from '../run/programs.ts'

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
  /** Forms that were refused while a shard was stopped on purpose, because they read or write something on it. */
  refusedForms: number
  /** Forms that were refused because the account of their sender was on the stopped shard. */
  refusedSenders: number
  /** Pages that say that a part of their data is missing. */
  partial: number
  /** Statements of all pages, by their feet. */
  statements: number
}

/** A time in which a shard is stopped on purpose. */
export interface Outage {
  /** Tells whether the account of a person is on the stopped shard. */
  hasAccount(personId: string): boolean
}

/** Sends the requests of a run, and counts their outcomes. */
export interface Traffic {
  readonly counts: Readonly<TrafficCounts>
  /** The first failures, for people. */
  readonly failures: readonly string[]
  /** Ends when the run ends: requests are sent no more. */
  readonly signal: AbortSignal
  /** Sends a page's request, or a form of a person, until the process of the site answers. Returns undefined if it fails or is refused. */
  send(
    name: string,
    expected: number,
    request: () => Promise<Answer>,
    sender?: string,
  ): Promise<Answer | undefined>
}

/**
 * `outage` returns the present outage that was made on purpose. A form that the site refuses then in plain words, with a time to try again, is no
 * failure.
 */
export function createTraffic(
  web: Pick<Program, 'wasUpSince'>,
  signal: AbortSignal,
  outage: () => Outage | undefined = () => undefined,
): Traffic {
  const counts: TrafficCounts = {
    failed: 0,
    repeated: 0,
    status5xx: 0,
    refusedForms: 0,
    refusedSenders: 0,
    partial: 0,
    statements: 0,
  }
  const failures: string[] = []

  function fail(name: string, reason: string): undefined {
    counts.failed++
    if (failures.length < DESCRIBED) failures.push(`${name}: ${reason}`)
  }

  return {
    counts,
    failures,
    signal,
    async send(name, expected, request, sender) {
      const giveUp = performance.now() + GIVE_UP_MS
      for (;;) {
        if (signal.aborted) return undefined
        const began = performance.now()
        const outageBefore = outage()
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
        const refused = sender && refusalOf(answer, sender, outageBefore ?? outage())
        if (!refused) return fail(name, `status ${answer.status}`)
        counts[refused]++
        return undefined
      }
    },
  }

  function countPage({ status, text }: Answer): void {
    if (status >= 500) counts.status5xx++
    if (PARTIAL.test(text)) counts.partial++
    counts.statements += Number(/in (\d+) statements?/.exec(text)?.[1] ?? 0)
  }
}

/** Returns the counter of a form that was refused in plain words during an outage; undefined for any other failure. */
function refusalOf(
  { status, text, saysWhen }: Answer,
  sender: string,
  outage: Outage | undefined,
): 'refusedForms' | 'refusedSenders' | undefined {
  if (outage === undefined || status !== 503 || !saysWhen) return undefined
  if (!text.includes(NO_ACCOUNT)) return 'refusedForms'
  // The site may claim this only of people whose account really is on the stopped shard.
  return outage.hasAccount(sender) ? 'refusedSenders' : undefined
}

/** Title of the page for a person whose account cannot be read. */
const NO_ACCOUNT = 'Your account cannot be read'

/** The bar of a page that lacks data of a shard. */
const PARTIAL = /<p class="missing" role="status"/
