import { drainPending, sweep, type Cleaner } from '@looseleaf/cleaner'
import type { DataStore } from '@looseleaf/store'
import type { Follower } from './follower.ts'
import { createLife } from './life.ts'
import type { LookOptions } from './look-beneath.ts'
import type { Scheduler } from './scheduler.ts'
import type { Weather } from './weather.ts'

export interface EndingOptions extends LookOptions {
  readonly scheduler: Scheduler
  readonly weather: Weather
  readonly cleaners: readonly (Cleaner | undefined)[]
  readonly follower: Follower | undefined
  /** Whether whole shards have fallen back to what they held before. */
  hasFallenBack(): boolean
  /** False when nothing moves any more. */
  step(): Promise<boolean>
  /** Lets the world go on until this one thing has ended. */
  play<T>(work: Promise<T>): Promise<T>
}

/** A follower who has not caught up by then never does. */
const MAX_POLLS = 200

/** Calm weather: what is under way ends, one sweep passes, and then everything has to be exact. */
export async function endWell(options: EndingOptions): Promise<void> {
  const { world, scheduler, promise, keys, follower, play } = options
  const { check } = options.checker
  const { clients, deleteDelayMs, happened, writeOrder } = world
  world.isCalm = true
  world.down.clear()
  options.weather.wakeAll()
  await Promise.all(options.cleaners.map(async (cleaner) => cleaner && play(cleaner.stop())))
  while (await options.step());
  // What a shard has forgotten of the catalog, it takes over from the others.
  const { store } = await play(world.open(createLife('sweeper'), true))
  if (follower !== undefined) await play(catchUp(follower, store, scheduler))
  scheduler.leap(deleteDelayMs)
  await play(drainPending(store))
  let swept = await play(sweep(store, { graceMs: 0 }))
  if (deleteDelayMs > 0) {
    // Attempts of the dead were fenced; a fence can be lost by a failover too, so their rows go when it is old enough.
    scheduler.leap(deleteDelayMs)
    swept = await play(sweep(store, { graceMs: 0 }))
  }
  const inexact = promise.inexact().map((what) => `after the sweep: ${what}`)
  check('one sweep makes tables exact', ...inexact)
  if (writeOrder === 'entity-first')
    check('one sweep makes tables exact where rows come after their entities', ...inexact)
  if (clients === 'keys') check('one sweep gives every key to an entity that has it', ...keys.unheld())
  if (options.hasFallenBack() || happened.serverCrash > 0) {
    const agree = promise.catalogsAgree()
    check('catalogs agree in the end when a shard has forgotten changes', !agree && 'catalogs differ')
  }
  // A fence raises a version without its rows, and those that include properties are written again then.
  if (clients === 'keys' && swept.fenced > 0) await play(sweep(store, { graceMs: 0 }))
  const { added, removed, fenced } = await play(sweep(store, { graceMs: 0 }))
  check('a second sweep finds nothing to do', added + removed + fenced > 0 && 'there was something to do')
  await play(store.close())
}

/** Whatever was committed comes within some polls. */
async function catchUp(follower: Follower, store: DataStore, scheduler: Scheduler): Promise<void> {
  const ended = new AbortController()
  const following = follower.follow(store, ended.signal)
  const time = scheduler.timeOf(createLife('patience'))
  for (let polls = 0; polls < MAX_POLLS && !follower.hasAll; polls++) await time.sleep(100)
  ended.abort()
  await following
  follower.checkAll()
}
