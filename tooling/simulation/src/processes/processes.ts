import type { Cleaner } from '@looseleaf/cleaner'
import { startTunedCleaner } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import { runAdministrator } from './administrator.ts'
import { runClient, type ReplicaClient } from './client.ts'
import { runMover, type MoveOutcome, type MoverTask } from './mover.ts'
import { moversStore } from '../faults/flawed-mover.ts'
import { clientsStore, keepDraining, onlyDrains } from '../faults/flawed-process.ts'
import type { Flaw } from '../faults/flaws.ts'
import type { Consumed } from '../history/consumed.ts'
import type { Follower } from '../history/follower.ts'
import type { Checker } from '../checks.ts'
import type { History } from '../history/history.ts'
import { createLife, reach, type Life } from '../steps/life.ts'
import type { Scheduler } from '../steps/scheduler.ts'
import type { Opened, World } from '../world/world.ts'

/** The processes of a store. A new one replaces each dead one. */
export interface Processes {
  startAll(): void
  lives(): readonly Life[]
  isMover(life: Life): boolean
  cleaners(): readonly (Cleaner | undefined)[]
  crash(life: Life): void
  /** Returns the number of processes whose clients are still working. */
  busy(): number
  /** Tells whether a process has started while a shard was down. */
  hasBegunWithout(): boolean
}

export interface ProcessesOptions {
  readonly world: World
  readonly scheduler: Scheduler
  readonly random: Random
  readonly flaw: Flaw | undefined
  readonly history: History
  readonly checker: Checker
  /** Counts the outcomes of movers' calls. */
  readonly moves: Record<MoveOutcome, number>
  /** Present in some lives. */
  readonly follower: Follower | undefined
  readonly consumed: Consumed | undefined
  /** Runs the world until this work has ended. */
  track(work: Promise<void>): void
  /** False while an operator repairs a failover. */
  isRepaired(): boolean
}

const PROCESSES = 3
const MAX_REST_MS = 200
const RESTS_DURING_MOVES_MS = [50, 300, 2_000, 4_000]
const CLIENTS = 2
const OPERATIONS = { everything: 5, rows: 15, keys: 12 }
/** More operations, so that the lag of replicas gets known and the cache gets hits. */
const OPERATIONS_WITH_COPIES = 30
/** More operations, so that some are in flight when a repair ends. */
const OPERATIONS_UNTIL_REPAIRED = 60
/** Short intervals for a life of some seconds. Milliseconds of virtual time. */
const CLEANER = {
  graceMs: 200,
  intervalMs: 100,
  idleIntervalMs: 1000,
  catalogMs: 200,
  leaseMs: 500,
  settleMs: 20,
  pollMs: 50,
}
/** For lives with moves, which take half a minute. */
const SLOW_CLEANER = { ...CLEANER, intervalMs: 1_500, idleIntervalMs: 5_000, catalogMs: 3_000 }
/** Operations of a client until the moves of its life are over. */
const OPERATIONS_DURING_MOVES = { least: 8, most: 70 }
/** Longer than writers wait for each other, so that they take over keys before a cleaner does. */
const GRACE_OF_KEYS_MS = 1000
/** Greatest times after which a process takes part in the work of a consumer, in milliseconds. */
const JOINS_MS = [1, 20_000]
/** Milliseconds between two looks whether movers are done. */
const CONSUMED_MS = 1_000
/** Process that follows the changes, in lives with a follower; the others share the consumer. */
const FOLLOWING = 2

export function createProcesses(options: ProcessesOptions): Processes {
  const { world, scheduler, random, flaw, history, follower, consumed } = options
  const processes: { readonly life: Life; readonly die: () => void }[] = []
  const cleaners: (Cleaner | undefined)[] = []
  /** Processes whose clients are still working. */
  const busy = new Set<Life>()
  /** Ends the rests of clients. */
  const resting = new Set<() => void>()
  const tokens: ReplicaClient['tokens'] = []
  let hasBegunWithout = false
  /** Tasks of the movers. */
  const tasks: (MoverTask | undefined)[] = []

  function start(number: number): void {
    const { maxSkewMs, happened } = world
    const skewMs = random.below(2 * maxSkewMs + 1) - maxSkewMs
    const life = createLife(`${'ABCMN'[number]}${happened.crash}`, skewMs)
    busy.add(life)
    // A dead process never answers, so callers must not wait for it.
    const death = Promise.withResolvers<void>()
    processes[number] = { life, die: death.resolve }
    const work = number < PROCESSES ? live(life, number) : moveBuckets(life, number)
    options.track(Promise.race([work, death.promise]))
  }

  /** Runs a mover on a store of its own. */
  async function moveBuckets(life: Life, number: number): Promise<void> {
    const task = (tasks[number] ??= {
      remaining: world.moves,
      last: undefined,
      isImpossible: false,
      removing: undefined,
    })
    const { store } = await open(life)
    const time = scheduler.timeOf(life)
    await runMover({
      store,
      moved: moversStore(store, flaw),
      life,
      time,
      random,
      world,
      checker: options.checker,
      task,
      outcomes: options.moves,
      onBusy: () => {
        for (const end of resting) end()
      },
      note: (line) => scheduler.note(line),
    })
    busy.delete(life)
    await store.close()
  }

  /** Returns the number of movers that have work. */
  const moving = (): number => processes.slice(PROCESSES).filter(({ life }) => busy.has(life)).length

  /** Runs a store with its clients, and perhaps a cleaner and an administrator. */
  async function live(life: Life, number: number): Promise<void> {
    const { store, cleaned } = await open(life)
    const isCleaned = !onlyDrains(flaw) && (number === 0 || random.chance(0.4))
    const time = scheduler.timeOf(life)
    const isAdministered = world.hasAdministrators && (number === 0 || (number === 1 && random.chance(0.3)))
    const changes = isAdministered ? 1 + random.below(3) : 0
    const hasKeys = world.clients === 'keys'
    const usualCleaner = world.movers > 0 ? SLOW_CLEANER : CLEANER
    const cleanerOptions = hasKeys ? { ...usualCleaner, graceMs: GRACE_OF_KEYS_MS } : usualCleaner
    cleaners[number] = isCleaned ? startTunedCleaner(cleaned, cleanerOptions) : undefined
    const clients = runClients(store, life).then(() => void busy.delete(life))
    const drains = onlyDrains(flaw) && keepDraining(cleaned, time, () => !busy.has(life))
    const ended = new AbortController()
    const consuming =
      consumed !== undefined && number !== FOLLOWING
        ? consumeFrom(consumed, store, time, ended.signal)
        : undefined
    const following = number === FOLLOWING ? follower?.follow(store, ended.signal) : undefined
    await Promise.all([clients, drains, runAdministrator({ store, life, time, random, changes, hasKeys })])
    // A move ends when the consumer has handled its changes.
    while (consuming !== undefined && moving() > 0) await time.sleep(CONSUMED_MS)
    ended.abort()
    await Promise.all([following, consuming])
    await store.settled()
    // Otherwise the store would keep polling its replicas.
    if (world.replicasEach + world.movers > 0) await store.close()
  }

  /** Takes part in the work of a consumer, from some time on. */
  async function consumeFrom(
    some: Consumed,
    store: DataStore,
    time: Time,
    signal: AbortSignal,
  ): Promise<void> {
    await time.sleep(random.below(random.pick(JOINS_MS)))
    await some.consume(store, time, signal)
  }

  /** Lets a client wait now and then: until its time is over, or until buckets are copied or handed over. */
  async function rest(life: Life): Promise<void> {
    const { cacheMs, movers, replicasEach } = world
    if (movers + cacheMs + replicasEach === 0 || world.movingBy.size > 0 || random.chance(0.5)) return
    const ms = random.below(movers > 0 ? random.pick(RESTS_DURING_MOVES_MS) : MAX_REST_MS)
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = (): void => {
      resting.delete(end)
      reach(life, resolve)
    }
    resting.add(end)
    void scheduler.timeOf(life).sleep(ms).then(end)
    await promise
  }

  async function runClients(store: DataStore, life: Life): Promise<void> {
    const { skewMs } = life
    const { ids, clients, names, cacheMs, movers, nearValues, replicasEach } = world
    const usual = replicasEach + cacheMs > 0 ? OPERATIONS_WITH_COPIES : OPERATIONS[clients]
    const { least, most } = OPERATIONS_DURING_MOVES
    const mayGoOn = (operations: number): boolean => {
      if (movers > 0) return operations < (moving() > 0 ? most : least)
      return operations < (options.isRepaired() ? usual : OPERATIONS_UNTIL_REPAIRED)
    }
    const client = {
      store: clientsStore(store, flaw),
      random,
      history,
      ids,
      clients,
      names,
      cacheMs,
      movers,
      nearValues,
      replicas: replicasEach === 0 ? undefined : { skewMs, tokens },
      rest: () => rest(life),
      mayGoOn,
    }
    const count = movers > 0 ? 1 : CLIENTS
    await Promise.all(Array.from({ length: count }, () => runClient(client)))
  }

  async function open(life: Life): Promise<Opened> {
    for (;;) {
      try {
        const begunWithout = world.down.size > 0
        const opened = await world.open(life)
        hasBegunWithout ||= begunWithout
        return opened
      } catch (error) {
        if (!isLooseleafError(error) || !life.alive) throw error
        await scheduler.timeOf(life).sleep(10)
      }
    }
  }

  return {
    startAll() {
      for (let n = 0; n < PROCESSES + world.movers; n++) start(n)
    },
    lives: () => processes.map(({ life }) => life),
    isMover: (life) => processes.findIndex((each) => each.life === life) >= PROCESSES,
    cleaners: () => cleaners,
    crash(life) {
      const number = processes.findIndex((each) => each.life === life)
      life.alive = false
      busy.delete(life)
      processes[number]?.die()
      world.movingBy.delete(tasks[number] ?? life)
      start(number)
    },
    busy: () => busy.size,
    hasBegunWithout: () => hasBegunWithout,
  }
}
