import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import type { Faults } from './faults.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

export interface Network {
  readonly scheduler: Scheduler
  readonly random: Random
  /** The faults at this moment. */
  faults(): Faults
  /** Shards that take no statements at this moment, by number. */
  readonly down: ReadonlySet<number>
}

/** A process as the network sees it: once it is dead, nothing reaches it and nothing that it has not sent is sent. */
export interface Life {
  readonly name: string
  alive: boolean
}

/** Statements whose answers, when lost, leave open what has happened. */
const writes = new Set(['insert', 'replace', 'upsert', 'remove'])
const indexWrites = new Set(['upsert', 'remove'])

/** The driver as one process has it: every call is a statement on its way through a network that has faults. */
export function simulatedDriver(driver: Driver, life: Life, network: Network): Driver {
  const { scheduler, random } = network

  function send<T>(shard: number, label: string, operation: string, run: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const say = `${life.name} ${label}`
    const isWrite = writes.has(operation)

    const answer = async (apply: boolean, lose: boolean): Promise<void> => {
      const outcome = apply
        ? await run().then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
          )
        : undefined
      if (!life.alive) return
      if (lose || outcome === undefined) return reject(lost(isWrite, label))
      if ('error' in outcome) return reject(outcome.error)
      resolve(outcome.value)
    }

    scheduler.add(say, () => {
      if (!life.alive && random.chance(0.5)) return
      const faults = network.faults()
      if (network.down.has(shard) || random.chance(faults.errorBefore)) {
        scheduler.note(`  ${say}: refused`)
        if (life.alive) reject(unavailable(label))
        return
      }
      if (random.chance(faults.errorAfter)) {
        scheduler.note(`  ${say}: done, answer lost`)
        void answer(true, true)
        return
      }
      if (random.chance(faults.late)) {
        scheduler.note(`  ${say}: answer lost, on its way`)
        if (random.chance(0.7)) scheduler.add(`late: ${say}`, () => void run().catch(() => undefined))
        void answer(false, true)
        return
      }
      if (indexWrites.has(operation) && random.chance(faults.duplicate)) {
        scheduler.add(`again: ${say}`, () => void run().catch(() => undefined))
      }
      void answer(true, false)
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
    const through = wrap('shard', shard)
    return {
      ...shard,
      entities: wrap('entities', shard.entities),
      catalog: wrap('catalog', shard.catalog),
      tasks: wrap('tasks', shard.tasks),
      pending: wrap('pending', shard.pending),
      index(spec) {
        const table = indexes.get(spec.table) ?? wrap(spec.table, shard.index(spec))
        indexes.set(spec.table, table)
        return table
      },
      createTables: through.createTables,
      createIndexTable: through.createIndexTable,
      dropIndexTable: through.dropIndexTable,
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
