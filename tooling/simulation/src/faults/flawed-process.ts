import { drainPending } from '@looseleaf/cleaner/internal'
import type { Driver, Shard, Time } from '@looseleaf/core'
import { interceptShard } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import type { Flaw } from './flaws.ts'
import { withLocalRowsApart } from './flawed-local-rows.ts'

/** Returns the driver for the writers of a process, with the flaw. */
export function writersDriver(driver: Driver, flaw: Flaw | undefined): Driver {
  switch (flaw) {
    case 'read back without a flush':
    case 'keys are taken over without a flush':
    case 'changes without a flush':
      return withoutFlush(driver)
    case 'targets begin before their source is on disk':
      return withoutFlushOfCatalogs(driver)
    case 'keys are taken over without a fence':
      return withoutFences(driver)
    case 'local rows follow their entity':
    case 'local rows are deleted before their entity is written':
      return withLocalRowsApart(driver, flaw)
    case 'connections to replicas are not counted':
      return changed(driver, {
        shard: ({ replicas = [] }) => ({
          replicas: replicas.map((replica) => ({ ...replica, connections: () => undefined })),
        }),
      })
    default:
      return driver
  }
}

/** Returns the time for writers. With the flaw, they delete rows without waiting for queries. */
export function writersTime(
  time: Time,
  { queryTimeMs }: { readonly queryTimeMs: number },
  flaw: Flaw | undefined,
): Time {
  if (flaw !== 'writers delete at once') return time
  return { ...time, sleep: (ms, signal) => time.sleep(ms > queryTimeMs ? 0 : ms, signal) }
}

/** Returns the context for the cleaner of a process, with the flaw. */
export function cleanersContext(context: EngineContext, flaw: Flaw | undefined): EngineContext {
  switch (flaw) {
    case 'cleaner without a flush':
      return { ...context, driver: withoutFlush(context.driver) }
    case 'drain without a flush':
      return { ...context, driver: withSlowRemovals(withoutFlush(context.driver), context.time) }
    case 'cleaner deletes at once': {
      const { catalog } = context
      return {
        ...context,
        catalog: { ...catalog, current: () => ({ ...catalog.current(), queryTimeMs: 0 }) },
      }
    }
    default:
      return context
  }
}

export function withoutFlush(driver: Driver): Driver {
  return changed(driver, { shard: () => ({ flush: async () => {} }) })
}

/** Returns a driver that relies on catalogs as it has read them, whether or not they are on disk. */
function withoutFlushOfCatalogs(driver: Driver): Driver {
  const over = (shard: Shard): Shard => {
    let last = ''
    return interceptShard(shard, ({ operation }, run) => {
      const isOfCatalog = last === 'load' && operation === 'flush'
      last = operation
      // The answer of a flush is empty.
      return isOfCatalog ? (Promise.resolve() as ReturnType<typeof run>) : run()
    })
  }
  return { ...driver, shards: driver.shards.map(over) }
}

/**
 * Returns a driver whose fences do nothing. A fence writes the body that was read, or a tombstone if there is
 * no entity.
 */
export function withoutFences(driver: Driver): Driver {
  const read = new WeakSet<Uint8Array>()
  return changed(driver, {
    entities: (entities) => ({
      async read(ids, options) {
        const rows = await entities.read(ids, options)
        for (const row of rows) if (row?.body) read.add(row.body)
        return rows
      },
      async insert(rows, options) {
        if (!rows.every(({ body }) => body === null)) await entities.insert(rows, options)
      },
      async replace(rows, options) {
        const isFence = rows.every(({ body }) => body !== null && read.has(body))
        return isFence ? rows.map(() => true) : entities.replace(rows, options)
      },
    }),
  })
}

const SLOW_MS = 20

/** Delays removals, so that a server may crash between a drain's read and the delete based on it. */
function withSlowRemovals(driver: Driver, time: Time): Driver {
  return changed(driver, {
    shard: ({ pending }) => ({
      pending: {
        ...pending,
        async remove(rows, options) {
          await time.sleep(SLOW_MS)
          return pending.remove(rows, options)
        },
      },
    }),
  })
}

/** Returns the store for clients, with the flaw. */
export function clientsStore(store: DataStore, flaw: Flaw | undefined): DataStore {
  const isUnbounded = flaw === 'queries are not bounded' || flaw === 'pages of replicas are not bounded'
  if (!isUnbounded && flaw !== 'replicas have no bound' && flaw !== 'tokens are ignored') return store
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      if (isUnbounded) return property === 'query' ? complete(target, flaw) : (value.bind(target) as unknown)
      return (...args: readonly unknown[]) =>
        Reflect.apply(
          value,
          target,
          args.map((arg) => old(arg, flaw)),
        )
    },
  })
}

/** Options of a read from replicas, without their bounds. */
function old(argument: unknown, flaw: Flaw): unknown {
  if (typeof argument !== 'object' || argument === null || !('from' in argument)) return argument
  if (flaw === 'tokens are ignored') return { ...argument, after: undefined }
  return { ...argument, maxStalenessMs: Number.MAX_SAFE_INTEGER }
}

/** Returns a query that never reports that it took too long. */
function complete(store: DataStore, flaw: Flaw): DataStore['query'] {
  return async (...args) => {
    const page = await store.query(...args)
    if (flaw === 'pages of replicas are not bounded' && page.cost.asOf === undefined) return page
    return { ...page, cost: { ...page.cost, complete: true } }
  }
}

/** Rare, so that pending rows wait while their entities change. */
const DRAIN_EVERY_MS = 100

/** Tells whether the flaw concerns draining alone, so that no other cleaner may run. */
export const onlyDrains = (flaw: Flaw | undefined): boolean => flaw === 'drain without a flush'

/** Drains until it is over, without the other work of a cleaner. */
export async function keepDraining(
  cleaned: Pick<DataStore, 'context'>,
  time: Time,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    // A failed drain is retried, as a cleaner would.
    await drainPending(cleaned).catch(() => undefined)
    await time.sleep(DRAIN_EVERY_MS)
  }
}
