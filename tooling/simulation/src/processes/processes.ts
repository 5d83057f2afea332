import type { Cleaner } from '@looseleaf/cleaner'
import { startTunedCleaner } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import { runAdministrator } from './administrator.ts'
import { runClient, type ReplicaClient } from './client.ts'
import { clientsStore, keepDraining, onlyDrains } from '../faults/flawed-process.ts'
import type { Flaw } from '../faults/flaws.ts'
import type { Follower } from '../history/follower.ts'
import type { History } from '../history/history.ts'
import { createLife, type Life } from '../steps/life.ts'
import type { Scheduler } from '../steps/scheduler.ts'
import type { Opened, World } from '../world/world.ts'

/** The processes of a store. A new one replaces each dead one. */
export interface Processes {
  startAll(): void
  lives(): readonly Life[]
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
  /** Present in some lives. */
  readonly follower: Follower | undefined
  /** Runs the world until this work has ended. */
  track(work: Promise<void>): void
  /** False while an operator repairs a failover. */
  isRepaired(): boolean
}

const PROCESSES = 3
const CLIENTS = 2
const OPERATIONS = { everything: 5, moves: 15, keys: 12 }
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
/** Longer than writers wait for each other, so that they take over keys before a cleaner does. */
const GRACE_OF_KEYS_MS = 1000
/** Process that follows the changes, in lives with a follower. */
const FOLLOWING = 2

export function createProcesses(options: ProcessesOptions): Processes {
  const { world, scheduler, random, flaw, history, follower } = options
  const processes: { readonly life: Life; readonly die: () => void }[] = []
  const cleaners: (Cleaner | undefined)[] = []
  /** Processes whose clients are still working. */
  const busy = new Set<Life>()
  const tokens: ReplicaClient['tokens'] = []
  let hasBegunWithout = false

  function start(number: number): void {
    const { maxSkewMs, happened } = world
    const skewMs = random.below(2 * maxSkewMs + 1) - maxSkewMs
    const life = createLife(`${'ABC'[number]}${happened.crash}`, skewMs)
    busy.add(life)
    // A dead process never answers, so callers must not wait for it.
    const death = Promise.withResolvers<void>()
    processes[number] = { life, die: death.resolve }
    options.track(Promise.race([live(life, number), death.promise]))
  }

  /** Runs a store with its clients, and perhaps a cleaner and an administrator. */
  async function live(life: Life, number: number): Promise<void> {
    const { store, cleaned } = await open(life)
    const isCleaned = !onlyDrains(flaw) && (number === 0 || random.chance(0.4))
    const time = scheduler.timeOf(life)
    const isAdministered = number === 0 || (number === 1 && random.chance(0.3))
    const changes = isAdministered ? 1 + random.below(3) : 0
    const hasKeys = world.clients === 'keys'
    const cleanerOptions = hasKeys ? { ...CLEANER, graceMs: GRACE_OF_KEYS_MS } : CLEANER
    cleaners[number] = isCleaned ? startTunedCleaner(cleaned, cleanerOptions) : undefined
    const clients = runClients(store, life, time).then(() => void busy.delete(life))
    const drains = onlyDrains(flaw) && keepDraining(cleaned, time, () => !busy.has(life))
    const ended = new AbortController()
    const following = number === FOLLOWING ? follower?.follow(store, ended.signal) : undefined
    await Promise.all([clients, drains, runAdministrator({ store, life, time, random, changes, hasKeys })])
    ended.abort()
    await following
    await store.settled()
    // Otherwise the store would keep polling its replicas.
    if (world.replicasEach > 0) await store.close()
  }

  async function runClients(store: DataStore, { skewMs }: Life, time: Time): Promise<void> {
    const { ids, clients, names, cacheMs, replicasEach } = world
    const usual = replicasEach + cacheMs > 0 ? OPERATIONS_WITH_COPIES : OPERATIONS[clients]
    const mayGoOn = (operations: number): boolean =>
      operations < (options.isRepaired() ? usual : OPERATIONS_UNTIL_REPAIRED)
    const client = {
      store: clientsStore(store, flaw),
      random,
      history,
      ids,
      clients,
      names,
      cacheMs,
      replicas: replicasEach === 0 ? undefined : { skewMs, tokens },
      time,
      mayRest: replicasEach + cacheMs > 0,
      mayGoOn,
    }
    await Promise.all(Array.from({ length: CLIENTS }, () => runClient(client)))
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
      for (let n = 0; n < PROCESSES; n++) start(n)
    },
    lives: () => processes.map(({ life }) => life),
    cleaners: () => cleaners,
    crash(life) {
      const number = processes.findIndex((each) => each.life === life)
      life.alive = false
      busy.delete(life)
      processes[number]?.die()
      start(number)
    },
    busy: () => busy.size,
    hasBegunWithout: () => hasBegunWithout,
  }
}
