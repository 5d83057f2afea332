import { sweep, type Cleaner } from '@looseleaf/cleaner'
import { drainPending } from '@looseleaf/cleaner/internal'
import { formatId } from '@looseleaf/core'
import { movesOf, resumeMoves } from '@looseleaf/mover/internal'
import type { DataStore } from '@looseleaf/store'
import type { Consumed } from '../history/consumed.ts'
import type { Follower } from '../history/follower.ts'
import { createLife } from '../steps/life.ts'
import type { LookOptions } from '../tables/look-beneath.ts'
import type { Scheduler } from '../steps/scheduler.ts'
import type { Weather } from './weather.ts'

export interface EndingOptions extends LookOptions {
  readonly scheduler: Scheduler
  readonly weather: Weather
  readonly cleaners: readonly (Cleaner | undefined)[]
  readonly follower: Follower | undefined
  readonly consumed: Consumed | undefined
  /** Tells whether whole shards have fallen back. */
  hasFallenBack(): boolean
  /** Returns false when no statement or timer remains. */
  step(): Promise<boolean>
  /** Runs the world until this work has ended. */
  play<T>(work: Promise<T>): Promise<T>
}

/** A move that is open after this many calls counts as stuck. */
const MAX_RESUMES = 5
/** A follower or a consumer that has not caught up after this many polls counts as stuck. */
const MAX_POLLS = 200
/** Milliseconds between two of these polls. Retries of failed changes take minutes. */
const FOLLOWED_MS = 100
const CONSUMED_MS = 3_000

/** Ends a life in calm weather: calls in flight end, one sweep runs, and then everything must be exact. */
export async function endWell(options: EndingOptions): Promise<void> {
  const { world, scheduler, promise, keys, follower, consumed, play } = options
  const { check } = options.checker
  const { clients, deleteDelayMs, happened, writeOrder } = world
  world.isCalm = true
  world.down.clear()
  options.weather.wakeAll()
  await Promise.all(options.cleaners.map(async (cleaner) => cleaner && play(cleaner.stop())))
  while (await options.step());
  // A shard takes over the catalog changes that it has lost from the other shards.
  const { store } = await play(world.open(createLife('sweeper'), true))
  const ended = new AbortController()
  const consuming = consumed?.consume(store, scheduler.timeOf(), ended.signal)
  if (world.movers > 0) await play(endMoves(options, store))
  if (consumed !== undefined) {
    await play(until(() => consumed.hasAll, CONSUMED_MS, scheduler))
    consumed.checkAll()
  }
  ended.abort()
  if (consuming !== undefined) await play(consuming)
  if (follower !== undefined) await play(catchUp(follower, store, scheduler))
  scheduler.leap(deleteDelayMs)
  await play(drainPending(store))
  // The end of a move changes the catalogs of its shards, and a drain by an earlier catalog leaves its rows to the next one.
  if (world.movers > 0) await play(drainPending(store))
  let swept = await play(sweep(store, { graceMs: 0 }))
  if (deleteDelayMs > 0) {
    // The sweep has fenced attempts of crashed processes. A failover may undo a fence, so the rows of the
    // attempts are deleted only when the fence is old enough. So did the first of two drains, which left its rows to the next one.
    scheduler.leap(deleteDelayMs)
    if (world.movers > 0) await play(drainPending(store))
    swept = await play(sweep(store, { graceMs: 0 }))
  }
  const inexact = promise.inexact().map((what) => `after the sweep: ${what}`)
  check('one sweep makes index tables exact', ...inexact)
  if (writeOrder === 'entity-first')
    check('one sweep makes index tables exact if rows are written after their entities', ...inexact)
  if (clients === 'keys') check('after one sweep, an entity with each key holds its claim', ...keys.unheld())
  if (options.hasFallenBack() || happened.serverCrash > 0 || world.movers > 0) {
    const agree = promise.catalogsAgree()
    check('catalogs converge after a shard has lost changes of the catalog', !agree && 'catalogs differ')
  }
  // A fence raises a version without updating its rows; rows that include properties are then written again.
  if (clients === 'keys' && swept.fenced > 0) await play(sweep(store, { graceMs: 0 }))
  const { added, removed, fenced } = await play(sweep(store, { graceMs: 0 }))
  check('a second sweep finds nothing to do', added + removed + fenced > 0 && 'there was something to do')
  await play(store.close())
}

/** Goes on with all moves until none is open. */
async function endMoves({ checker, world }: EndingOptions, store: DataStore): Promise<void> {
  const failures: string[] = []
  for (let tries = 0; tries < MAX_RESUMES && (await movesOf(store)).length > 0; tries++)
    await resumeMoves(store, { pollMs: 1_000 }).catch((error: unknown) => failures.push(String(error)))
  const open = await movesOf(store)
  const { owners } = world
  const stray = owners
    .members()
    .flatMap((shard, number) =>
      shard.entities.rows
        .filter(({ id }) => owners.ofId(id) !== shard)
        .map(({ id }) => `${formatId(id)} is on shard ${number}, which is not its own`),
    )
  checker.check(
    'moves end, and leave no entity on another shard than its own',
    open.length > 0 && `move ${open[0]?.id} did not end: ${failures.join('; ')}`,
    ...stray,
  )
}

/** Waits until this holds, or until it counts as stuck. */
async function until(holds: () => boolean, everyMs: number, scheduler: Scheduler): Promise<void> {
  const time = scheduler.timeOf(createLife('patience'))
  for (let polls = 0; polls < MAX_POLLS && !holds(); polls++) await time.sleep(everyMs)
}

/** Polls until every committed change has arrived. */
async function catchUp(follower: Follower, store: DataStore, scheduler: Scheduler): Promise<void> {
  const ended = new AbortController()
  const following = follower.follow(store, ended.signal)
  await until(() => follower.hasAll, FOLLOWED_MS, scheduler)
  ended.abort()
  await following
  follower.checkAll()
}
