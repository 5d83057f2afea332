import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'
import type { Disk } from './disk.ts'
import type { FaultKind, Faults } from './faults.ts'
import { UNCHANGED, unchangedTakes } from './flawed-driver.ts'
import { reach, type Life } from './life.ts'
import type { ReplicaServer } from './replicas.ts'
import type { Scheduler } from './scheduler.ts'

export interface Network {
  readonly scheduler: Scheduler
  readonly random: Random
  /** The faults at this moment. */
  faults(): Faults
  /** Told of every fault. */
  count(kind: FaultKind): void
  /** Shards that take no statements at this moment, by number. */
  readonly down: ReadonlySet<number>
  /** The disks of the shards. */
  readonly disks: readonly Disk[]
  /** Those that follow each shard, by number; none where it is left out. */
  readonly replicas?: readonly (readonly ReplicaServer[])[] | undefined
}

/** A server, as a process has it. */
interface Target {
  /** As its shard is called. */
  readonly name: string
  /** Of the scheduler. */
  readonly address: number
  /** The number of its shard. */
  readonly number: number
  readonly isDown: () => boolean
  /** A statement has come to it. */
  readonly reached: () => void
}

/** Statements whose answers, when lost, leave open what has happened. */
const writes: ReadonlySet<string> = new Set([
  'insert',
  'replace',
  'raiseFloor',
  'repairVersion',
  'repairStamps',
  'raisePurged',
  'purge',
  'upsert',
  'remove',
  'take',
  'swap',
  'claim',
  'claimAll',
  'save',
  'saveAll',
  'init',
  'change',
  'createTables',
  'createIndexTable',
  'dropIndexTable',
])

/** These wait for the disk before they do anything. */
const definitions: ReadonlySet<string> = new Set(['createTables', 'createIndexTable', 'dropIndexTable'])

/** Answers of writes that say that nothing was changed, so that nothing has to be written to disk. */
const saysUnchanged: Readonly<Record<string, (answer: unknown) => boolean>> = {
  replace: (swapped) => (swapped as readonly boolean[]).every((won) => !won),
  // An upsert waits for what others have written, too; but for one with a flaw.
  upsert: (changed) => changed === UNCHANGED,
  remove: (removed) => removed === 0,
  purge: (purged) => purged === 0,
  // A take waits for what others have written, as an upsert does; but for one with a flaw.
  take: (answer) => unchangedTakes.has(answer as object),
  swap: (swapped) => swapped === false,
  claim: (task) => task === undefined,
  save: (saved) => saved === false,
  init: (written) => written === false,
  change: (changed) => changed === false,
}

/** How likely a caller gives up waiting for an answer while the disk hangs. */
const GIVES_UP = 0.5

/** The driver as one process has it: every call is a statement on its way through a network that has faults. */
export function simulatedDriver(driver: Driver, life: Life, network: Network): Driver {
  const { scheduler, random } = network

  function send<T>(target: Target, label: string, operation: string, run: () => Promise<T>): Promise<T> {
    const { address: shard, name } = target
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const say = `${life.name} ${label}`
    const isWrite = writes.has(operation)
    const fail = (error: unknown): void => reach(life, () => reject(error))
    const happens = (kind: FaultKind): boolean => {
      const does = random.chance(network.faults()[kind])
      if (does) network.count(kind)
      return does
    }
    const disk = network.disks[target.number] as Disk
    const runAndChange = (): Promise<T> => {
      const result = run()
      if (isWrite) disk.changed()
      return result
    }
    const begin = (it: () => void, cutOff: () => void = () => undefined): void =>
      definitions.has(operation) ? disk.whenFree(it, cutOff) : it()
    const later = (how: string): void =>
      scheduler.add({
        label: `${how}: ${say}`,
        shard,
        writes: isWrite,
        belated: true,
        arrive: () => begin(() => void runAndChange().catch(() => undefined)),
      })

    /** Most wait for the disk for as long as it takes; others give up, and the statement takes place all the same. */
    function giveUp(): void {
      if (!disk.hangs || !random.chance(GIVES_UP)) return
      const arrive = (): void => {
        scheduler.note(`  ${say}: given up`)
        fail(lost(isWrite, label, name))
      }
      scheduler.add({ label: `deadline: ${say}`, shard, writes: false, belated: true, arrive })
    }

    function answer(value: T): void {
      const done = (): void => reach(life, () => resolve(value))
      if (operation !== 'flush' && (!isWrite || saysUnchanged[operation]?.(value) === true)) return done()
      disk.whenWritten(done, () => fail(lost(isWrite, label, name)))
      giveUp()
    }

    scheduler.add({
      label: say,
      shard,
      life,
      writes: isWrite,
      cut() {
        scheduler.note(`  ${say}: cut off`)
        fail(lost(isWrite, label, name))
      },
      arrive() {
        if (!life.alive && random.chance(0.5)) return
        if (target.isDown() || happens('errorBefore')) {
          scheduler.note(`  ${say}: refused`)
          return fail(unavailable(label, name))
        }
        if (happens('late')) {
          scheduler.note(`  ${say}: answer lost, on its way`)
          if (random.chance(0.7)) later('late')
          return fail(lost(isWrite, label, name))
        }
        if (isWrite && happens('duplicate')) later('again')
        target.reached()
        const isLost = happens('errorAfter')
        if (isLost) scheduler.note(`  ${say}: done, answer lost`)
        begin(
          () =>
            void runAndChange().then(
              (value) => (isLost ? fail(lost(isWrite, label, name)) : answer(value)),
              (error: unknown) => fail(isLost ? lost(isWrite, label, name) : error),
            ),
          () => fail(lost(isWrite, label, name)),
        )
      },
    })
    return promise
  }

  function over(shard: Shard, target: Target): Shard {
    const wrap = <Table extends object>(name: string, table: Table): Table =>
      new Proxy(table, {
        get(own, property) {
          const value: unknown = Reflect.get(own, property)
          if (typeof value !== 'function' || typeof property !== 'string') return value
          return (...args: readonly unknown[]) =>
            send(
              target,
              `${name}.${property} on ${target.address}`,
              property,
              () => Reflect.apply(value, own, args) as Promise<unknown>,
            )
        },
      })
    const indexes = new Map<string, ReturnType<Shard['index']>>()
    const claims = new Map<string, ReturnType<Shard['claims']>>()
    const through = wrap('shard', shard)
    return {
      ...shard,
      entities: wrap('entities', shard.entities),
      catalog: wrap('catalog', shard.catalog),
      tasks: wrap('tasks', shard.tasks),
      pending: wrap('pending', shard.pending),
      definitions: wrap('definitions', shard.definitions),
      index(spec) {
        const table = indexes.get(spec.table) ?? wrap(spec.table, shard.index(spec))
        indexes.set(spec.table, table)
        return table
      },
      claims(spec) {
        const table = claims.get(spec.table) ?? wrap(spec.table, shard.claims(spec))
        claims.set(spec.table, table)
        return table
      },
      rowsOf: through.rowsOf,
      createTables: through.createTables,
      createIndexTable: through.createIndexTable,
      dropIndexTable: through.dropIndexTable,
      flush: through.flush,
      now: through.now,
      warnings: through.warnings,
    }
  }

  /** A process has connections to a server until that goes, and others to the one that comes after it. */
  function overReplica(server: ReplicaServer, number: number): Shard {
    const { shard, address } = server
    let opened = 0
    let start = 0
    const target: Target = {
      name: shard.name,
      address,
      number,
      isDown: () => server.isDown,
      reached() {
        if (server.starts !== start) opened++
        start = server.starts
        server.show()
      },
    }
    const state = { open: 1, idle: 1, limit: 1, waiting: 0, refusal: undefined }
    return {
      ...over(shard, target),
      connections: () => ({ ...state, opened }),
    }
  }

  const shards = driver.shards.map((shard, number): Shard => {
    const isDown = (): boolean => network.down.has(number)
    const own = over(shard, { name: shard.name, address: number, number, isDown, reached: () => undefined })
    const replicas = network.replicas?.[number] ?? []
    if (replicas.length === 0) return own
    return { ...own, replicas: replicas.map((server) => overReplica(server, number)) }
  })
  return { shards, close: async () => {} }
}

function unavailable(label: string, shard: string): LooseleafError {
  return new LooseleafError('SHARD_UNAVAILABLE', `${label}: the shard is not there.`, { shard })
}

function lost(isWrite: boolean, label: string, shard: string): LooseleafError {
  const code = isWrite ? 'OUTCOME_UNKNOWN' : 'SHARD_UNAVAILABLE'
  return new LooseleafError(code, `${label}: the answer was lost.`, { shard })
}
