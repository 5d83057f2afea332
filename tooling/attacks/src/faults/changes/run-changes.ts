import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConsumers } from '@looseleaf/changes'
import { formatId, parseId, type Shard as StoreShard } from '@looseleaf/core'
import { openStore } from '../../lab/open-store.ts'
import { createProcesses, type Process } from '../../lab/processes.ts'
import { readRecords } from '../../lab/records.ts'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import type { ChangesConfig, ChangesRecord, Role } from './changes-records.ts'
import { quantile } from '../quantile.ts'
import { effectsOf, missed, type Effects } from './judge-changes.ts'
import { slowStatements } from './slow-statements.ts'

export interface ChangesRunOptions {
  /** One empty database per shard. */
  readonly urls: readonly string[]
  /** The same databases, for a user with all rights. */
  readonly adminUrls: readonly string[]
  readonly seed: number
  readonly rounds: number
  /** Duration of the faults in a round. Each round ends with a quiet time. */
  readonly roundMs: number
  readonly writers: number
  readonly consumers: number
  /** Processes of each consumer. */
  readonly processes: number
  /** Kills a server and starts it again. If given, the run calls it now and then. */
  readonly restartServer?: ((random: Random) => Promise<void>) | undefined
}

export interface ChangesRun {
  readonly seed: number
  readonly writers: number
  readonly consumers: number
  /** Processes of each consumer. */
  readonly processes: number
  readonly seconds: number
  readonly rounds: number
  readonly entities: number
  /** Sum over all consumers. */
  readonly handled: number
  readonly again: number
  readonly late: number
  readonly faults: Readonly<Record<string, number>>
  /** Errors of shards that consumers met and retried, by code. */
  readonly errors: Readonly<Record<string, number>>
  /** Milliseconds from the end of the writes until every consumer had all changes, per round. */
  readonly quietMs: readonly number[]
  /** For slow rounds: the state of each consumer two seconds after the writes ended. */
  readonly behind: readonly string[]
  /** Milliseconds from write to handler, over all faults. */
  readonly afterMs: { readonly p50: number; readonly p99: number }
  /** Last states that a reader by time had missed when the consumers had everything, over all rounds. */
  readonly missedByTime: number
  readonly wrongs: readonly string[]
}

const IDS = 400
const LEASE_MS = 1_000
const SLOW_SHARE = 0.01
const SLOW_SECONDS = 0.5
/** Time for a consumer to catch up. After it, the consumer counts as stuck. */
const QUIET_LIMIT_MS = 30_000
const END_MS = 60_000
/** A consumer that needs longer is reported in `behind`. */
const LONG_MS = 2_000

interface Worker {
  readonly role: Role
  readonly consumer: string
  readonly process: Process
  readonly file: string
  wasPaused: boolean
}

/**
 * Runs consumers on real databases while processes and servers are killed, paused and slow. No consumer may
 * miss a change.
 */
export async function runChanges(options: ChangesRunOptions): Promise<ChangesRun> {
  const { urls, seed, rounds, roundMs } = options
  const random = createRandom(seed)
  const started = performance.now()
  const store = await openStore(urls, { migrate: true })
  await slowStatements(options.adminUrls, SLOW_SHARE, SLOW_SECONDS)
  const ids = Array.from({ length: IDS }, () => store.newId())
  const { shards } = store.context.driver
  const faults: Record<string, number> = {}
  const wrongs: string[] = []
  const all: Effects[] = []
  const quietMs: number[] = []
  const behind: string[] = []
  const known = new Map<string, Map<string, number>>()
  let missedByTime = 0
  try {
    for (let round = 0; round < rounds; round++) {
      const folder = await mkdtemp(join(tmpdir(), 'looseleaf-changes-'))
      const load = await createLoad(folder, { ...options, seed: seed * 100 + round, ids })
      try {
        await load.begin()
        const end = performance.now() + roundMs
        while (performance.now() < end) {
          await sleep(200 + random.below(1_300))
          const what = await disturb(load, random, options)
          faults[what] = (faults[what] ?? 0) + 1
        }
        await load.stopWriters()
        const quietAt = performance.now()
        const stored = await storedVersions(shards, ids)
        let effects = load.effects(known)
        const isBehind = (): boolean =>
          [...effects].some(([name, one]) => name !== BY_TIME && missed(one, stored).length > 0)
        let isTold = false
        while (isBehind() && performance.now() - quietAt < QUIET_LIMIT_MS) {
          await sleep(20)
          effects = load.effects(known)
          if (isTold || performance.now() - quietAt < LONG_MS) continue
          isTold = true
          behind.push(...(await readConsumers(store)).map((one) => `round ${round}: ${JSON.stringify(one)}`))
        }
        quietMs.push(Math.round(performance.now() - quietAt))
        await load.end()
        effects = load.effects(known)
        for (const [name, one] of effects) {
          const lacking = missed(one, stored)
          if (name === BY_TIME) missedByTime += lacking.length
          else {
            all.push(one)
            wrongs.push(
              ...one.wrongs,
              ...lacking.map((id) => `${name}: ${id} has not come in its last state`),
            )
          }
          known.set(name, new Map(one.versions))
        }
      } finally {
        await load.kill()
        await rm(folder, { recursive: true, force: true })
      }
    }
  } finally {
    await store.close()
  }
  const afterMs = all.flatMap((one) => one.afterMs).toSorted((a, b) => a - b)
  const sum = (of: (one: Effects) => number): number => all.reduce((total, one) => total + of(one), 0)
  const { writers, consumers, processes } = options
  return {
    seed,
    writers,
    consumers,
    processes,
    seconds: (performance.now() - started) / 1_000,
    rounds,
    entities: IDS,
    handled: sum(({ handled }) => handled),
    again: sum(({ again }) => again),
    late: sum(({ late }) => late),
    faults,
    errors: added(all.map((one) => one.errors)),
    quietMs,
    behind,
    afterMs: { p50: quantile(afterMs, 0.5), p99: quantile(afterMs, 0.99) },
    missedByTime,
    wrongs,
  }
}

const BY_TIME = 'by time'

interface ChangesLoad {
  begin(): Promise<void>
  readonly workers: Worker[]
  start(role: Role, consumer: string): Worker
  stopWriters(): Promise<void>
  /** Returns the effects of each consumer, on top of its effects in former rounds. */
  effects(known: ReadonlyMap<string, ReadonlyMap<string, number>>): Map<string, Effects>
  end(): Promise<void>
  kill(): Promise<void>
}

async function createLoad(
  folder: string,
  { urls, seed, ids, writers, consumers, processes }: ChangesRunOptions & { readonly ids: readonly string[] },
): Promise<ChangesLoad> {
  const common = {
    role: 'write',
    urls,
    seed,
    ids,
    clients: 4,
    restMs: 20,
    consumer: '',
    leaseMs: LEASE_MS,
  } as const
  const load = await createProcesses<ChangesConfig, ChangesRecord>(
    new URL('./changes-worker.ts', import.meta.url),
    folder,
    common,
  )
  const workers: Worker[] = []

  function start(role: Role, consumer: string): Worker {
    const file = join(folder, `process-${workers.length + 1}.jsonl`)
    const worker = { role, consumer, process: load.start({ role, consumer }), file, wasPaused: false }
    workers.push(worker)
    return worker
  }

  return {
    workers,
    start,
    async begin() {
      for (let n = 0; n < writers; n++) start('write', '')
      for (let n = 0; n < consumers * processes; n++) start('consume', `consumer-${n % consumers}`)
      start('by time', BY_TIME)
      await Promise.all(workers.map(({ process }) => process.ready))
    },
    async stopWriters() {
      for (const { process } of living(workers)) process.signal('SIGCONT')
      const writing = living(workers).filter(({ role }) => role === 'write')
      for (const { process } of writing) process.stop()
      await Promise.all(writing.map(({ process }) => process.gone))
    },
    effects(known) {
      const names = new Set(workers.map(({ consumer }) => consumer).filter((name) => name !== ''))
      return new Map(
        [...names].map((consumer) => {
          const own = workers.filter((worker) => worker.consumer === consumer)
          const before = [...(known.get(consumer) ?? [])].map(([id, version]) => ({ id, version }))
          const earlier = before.map((one) => ({ ...one, kind: 'handled' as const, at: 0, afterMs: 0 }))
          const found = effectsOf({
            consumer,
            processes: [
              { records: earlier, wasPaused: false },
              ...own.map(({ file, wasPaused }) => ({ records: readRecords<ChangesRecord>(file), wasPaused })),
            ],
          })
          return [
            consumer,
            {
              ...found,
              handled: found.handled - earlier.length,
              afterMs: found.afterMs.slice(earlier.length),
            },
          ]
        }),
      )
    },
    async end() {
      for (const { process } of living(workers)) process.stop()
      await load.end(END_MS)
    },
    kill: () => load.kill(),
  }
}

function living(workers: readonly Worker[]): readonly Worker[] {
  return workers.filter(({ process }) => !process.isGone)
}

/** Does some harm and returns its description. */
async function disturb(
  load: ChangesLoad,
  random: Random,
  { restartServer }: ChangesRunOptions,
): Promise<string> {
  const consuming = living(load.workers).filter(({ role }) => role === 'consume')
  const writing = living(load.workers).filter(({ role }) => role === 'write')
  const pause = async ({ process }: Worker, milliseconds: number): Promise<void> => {
    process.signal('SIGSTOP')
    await sleep(milliseconds)
    process.signal('SIGCONT')
  }
  const chosen = random.next()
  if (chosen < 0.4) {
    const victim = random.pick(consuming)
    victim.process.signal('SIGKILL')
    await load.start('consume', victim.consumer).process.ready
    return 'consumers killed'
  }
  if (chosen < 0.6) {
    const victim = random.pick(consuming)
    victim.wasPaused = true
    await pause(victim, 200 + random.below(2 * LEASE_MS))
    return 'consumers paused'
  }
  if (chosen < 0.8) {
    await pause(random.pick(writing), 200 + random.below(1_500))
    return 'writers paused'
  }
  if (chosen < 0.95 || restartServer === undefined) {
    random.pick(writing).process.signal('SIGKILL')
    await load.start('write', '').process.ready
    return 'writers killed'
  }
  await restartServer(random)
  return 'servers killed'
}

/** Returns the stored versions of these entities, including tombstones. */
async function storedVersions(
  shards: readonly StoreShard[],
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await Promise.all(shards.map(({ entities }) => entities.read(ids.map(parseId))))
  return new Map(
    rows.flat().flatMap((row) => (row === undefined ? [] : [[formatId(row.id), row.version] as const])),
  )
}

function added(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const count of counts)
    for (const [name, number] of Object.entries(count)) total[name] = (total[name] ?? 0) + number
  return total
}
