import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from '@looseleaf/core'
import type { DataStore, MoveReport } from '@looseleaf/store'
import type { Crew, Job } from './crew.ts'
import { plansFor } from './layouts.ts'

export interface ChangeSizeOptions {
  readonly store: DataStore
  /** Databases of all shards there will ever be. */
  readonly urls: readonly string[]
  readonly crew: Crew
  /** Movers that work at the same time. */
  readonly movers: number
  /** Called with the moves in progress, now and then. */
  readonly onMoves: (moves: readonly MoveReport[]) => void
  readonly onEvent: (text: string) => void
}

/** A change whose moves stay the same for so long counts as stuck. */
const STUCK_MS = 300_000
const POLL_MS = 100

/**
 * Adds shards until there are `size`, and moves buckets to them; or drains all shards above `size`, if there were more before. Returns a problem, if there is one. Starts
 * movers again that have died.
 */
export async function changeSize(
  before: number,
  size: number,
  options: ChangeSizeOptions,
): Promise<string | undefined> {
  const { store, crew, movers, urls, onEvent, onMoves } = options
  let seen = ''
  let deadline = performance.now() + STUCK_MS
  onEvent(`${size} shards`)
  for (const [shard, url] of urls.slice(0, size).entries()) {
    const { added } = await untilDone(() => store.shards.add(url))
    if (!added) await untilDone(() => store.shards.stopDraining(shard))
  }
  while (performance.now() < deadline) {
    const open = await untilDone(() => store.shards.moves())
    onMoves(open)
    const now = JSON.stringify(open)
    if (now !== seen) deadline = performance.now() + STUCK_MS
    seen = now
    const job = (await jobs(store, before, size)).find((each) => !isTaken(each, open, crew))
    const working = crew.movers().length
    const isIdle = open.some(({ holder }) => holder === undefined)
    if (job === undefined && open.length === 0 && working === 0) return undefined
    if (job !== undefined && working < movers && open.length < movers) {
      onEvent(JSON.stringify(job))
      await crew.move(job)
    } else if (isIdle && open.length > working) await crew.move({ role: 'repair' })
    await sleep(POLL_MS)
  }
  return `The store does not get ${size} shards: ${JSON.stringify(await untilDone(() => store.shards.moves()))}`
}

/** Returns the jobs that are still to be done. */
async function jobs(store: DataStore, before: number, size: number): Promise<readonly Job[]> {
  const { layout } = await untilDone(() => store.context.catalog.reload())
  const owned = (layout?.shards ?? []).map(({ buckets = '' }) => buckets)
  if (size < before)
    return owned.flatMap((buckets, shard): Job[] =>
      shard >= size && buckets !== '' ? [{ role: 'drain', shard }] : [],
    )
  const shards = Array.from({ length: size }, (_, number) => number)
  return plansFor(owned, shards).map((plan) => ({ role: 'move', plan }))
}

function isTaken(job: Job, open: readonly MoveReport[], crew: Crew): boolean {
  if (crew.movers().some((member) => JSON.stringify(member.job) === JSON.stringify(job))) return true
  // While a move is in progress the buckets of its shards change, so that a plan does not.
  return job.role === 'move' && open.some(({ from, to }) => from === job.plan.from && to === job.plan.to)
}

/** Calls again while a server is down. */
async function untilDone<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isLooseleafError(error) || !error.retryable) throw error
      await sleep(POLL_MS)
    }
  }
}
