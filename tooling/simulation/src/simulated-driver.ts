import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'
import type { Disk } from './disk.ts'
import type { FaultKind, Faults } from './faults.ts'
import { UNCHANGED, unchangedTakes } from './flawed-driver.ts'
import { reach, type Life } from './life.ts'
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
}

/** Statements whose answers, when lost, leave open what has happened. */
const writes: ReadonlySet<string> = new Set([
  'insert',
  'replace',
  'raiseFloor',
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

  function send<T>(shard: number, label: string, operation: string, run: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const say = `${life.name} ${label}`
    const isWrite = writes.has(operation)
    const fail = (error: unknown): void => reach(life, () => reject(error))
    const happens = (kind: FaultKind): boolean => {
      const does = random.chance(network.faults()[kind])
      if (does) network.count(kind)
      return does
    }
    const disk = network.disks[shard] as Disk
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
        fail(lost(isWrite, label))
      }
      scheduler.add({ label: `deadline: ${say}`, shard, writes: false, belated: true, arrive })
    }

    function answer(value: T): void {
      const done = (): void => reach(life, () => resolve(value))
      if (operation !== 'flush' && (!isWrite || saysUnchanged[operation]?.(value) === true)) return done()
      disk.whenWritten(done, () => fail(lost(isWrite, label)))
      giveUp()
    }

    scheduler.add({
      label: say,
      shard,
      life,
      writes: isWrite,
      cut() {
        scheduler.note(`  ${say}: cut off`)
        fail(lost(isWrite, label))
      },
      arrive() {
        if (!life.alive && random.chance(0.5)) return
        if (network.down.has(shard) || happens('errorBefore')) {
          scheduler.note(`  ${say}: refused`)
          return fail(unavailable(label))
        }
        if (happens('late')) {
          scheduler.note(`  ${say}: answer lost, on its way`)
          if (random.chance(0.7)) later('late')
          return fail(lost(isWrite, label))
        }
        if (isWrite && happens('duplicate')) later('again')
        const isLost = happens('errorAfter')
        if (isLost) scheduler.note(`  ${say}: done, answer lost`)
        begin(
          () =>
            void runAndChange().then(
              (value) => (isLost ? fail(lost(isWrite, label)) : answer(value)),
              (error: unknown) => fail(isLost ? lost(isWrite, label) : error),
            ),
          () => fail(lost(isWrite, label)),
        )
      },
    })
    return promise
  }

  const shards = driver.shards.map((shard, number): Shard => {
    const wrap = <Table extends object>(name: string, table: Table): Table =>
      new Proxy(table, {
        get(target, property) {
          const value: unknown = Reflect.get(target, property)
          if (typeof value !== 'function' || typeof property !== 'string') return value
          return (...args: readonly unknown[]) =>
            send(
              number,
              `${name}.${property} on ${number}`,
              property,
              () => Reflect.apply(value, target, args) as Promise<unknown>,
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
  })
  return { shards, close: async () => {} }
}

function unavailable(label: string): LooseleafError {
  return new LooseleafError('SHARD_UNAVAILABLE', `${label}: the shard is not there.`)
}

function lost(isWrite: boolean, label: string): LooseleafError {
  return isWrite
    ? new LooseleafError('OUTCOME_UNKNOWN', `${label}: the answer was lost.`)
    : new LooseleafError('SHARD_UNAVAILABLE', `${label}: the answer was lost.`)
}
