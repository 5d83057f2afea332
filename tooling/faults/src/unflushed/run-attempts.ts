import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '@looseleaf-tooling/lab/cluster'
import { moment } from '@looseleaf-tooling/lab/records'
import type { Experiment, Verdict } from './experiment.ts'
import { HANGING, type Ground } from './ground.ts'
import type { LogHang } from './log-hang.ts'

/** In which what others could see was on no disk, and may have been undone. Microseconds, as in histories. */
export interface Outage {
  readonly from: number
  readonly to: number
}

export interface AttemptsRun {
  readonly verdicts: readonly Verdict[]
  /** Calls of the server that had to wait for its log. */
  readonly hung: number
  readonly outage: Outage
}

export interface Prepared {
  readonly experiment: Experiment
  readonly ground: Ground
}

/** Every call has a deadline of its own, so whoever is tempted comes to an end long before. */
const LONGEST_MS = 40_000

/**
 * All of them at once: has the log of one server hang, kills the server while it does, and starts it again. With
 * `lateFlushes` a flush that somebody makes to be sure meanwhile is held up until the server is back.
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
  // In this order: what waits for the log must not wake up.
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
    throw new Error('Somebody who waits for the log does not come to an end.')
  })
  try {
    await Promise.race([work, tooLong])
  } finally {
    tooLong.catch(() => undefined)
    limit.abort()
  }
}
