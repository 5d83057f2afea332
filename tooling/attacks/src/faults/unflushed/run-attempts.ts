import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../../lab/cluster.ts'
import { moment } from '../../lab/records.ts'
import type { Experiment, Verdict } from './experiment.ts'
import { HANGING, type Ground } from './ground.ts'
import type { LogHang } from './log-hang.ts'

/**
 * Interval whose visible commits were not on disk and may have been undone. Microseconds, as in histories.
 */
export interface Outage {
  readonly from: number
  readonly to: number
}

export interface AttemptsRun {
  readonly verdicts: readonly Verdict[]
  /** Calls of the server that waited for its log. */
  readonly hung: number
  readonly outage: Outage
}

export interface Prepared {
  readonly experiment: Experiment
  readonly ground: Ground
}

/** Longer than the deadline of any call. */
const LONGEST_MS = 40_000

/**
 * Runs all attempts at once: makes the log of one server hang, kills the server, and starts it again. With
 * `lateFlushes`, flushes wait until the server is back.
 */
export async function runAttempts(
  cluster: Cluster,
  hang: LogHang,
  prepared: readonly Prepared[],
  { lateFlushes }: { readonly lateFlushes: boolean },
): Promise<AttemptsRun> {
  const server = cluster.shards[HANGING]
  if (server === undefined) throw new Error('There is no server to kill.')
  const attempts = await Promise.all(prepared.map(({ experiment, ground }) => experiment.prepare(ground)))
  const before = await hang.hung()
  const from = moment()
  await hang.begin()
  const acting = prepared.map(async ({ ground }, i) => {
    if (lateFlushes) ground.flushes.close()
    await attempts[i]?.act()
  })
  const ready = acting.map((acted, i) => Promise.race([acted, prepared[i]?.ground.flushes.reached]))
  await inTime(Promise.all(ready))
  const hung = (await hang.hung()) - before
  // Kill first: the waiting calls must not continue.
  await server.kill()
  await hang.end()
  await server.restart()
  const to = moment()
  for (const { ground } of prepared) ground.flushes.open()
  await inTime(Promise.all(acting))
  const verdicts = await Promise.all(attempts.map((attempt) => attempt.judge()))
  return { verdicts, hung, outage: { from, to } }
}

async function inTime(work: Promise<unknown>): Promise<void> {
  const limit = new AbortController()
  const tooLong = sleep(LONGEST_MS, undefined, { signal: limit.signal }).then(() => {
    throw new Error('A call that waits for the log does not end.')
  })
  try {
    await Promise.race([work, tooLong])
  } finally {
    tooLong.catch(() => undefined)
    limit.abort()
  }
}
