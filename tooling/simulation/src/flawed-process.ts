import { drainPending, type CleanerStore } from '@looseleaf/cleaner'
import type { Driver, Time } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { changed } from '@looseleaf-tooling/lab/drivers'
import type { Flaw } from './flaws.ts'

/** What the writers of a process use, with the flaw. */
export function writersDriver(driver: Driver, flaw: Flaw | undefined): Driver {
  switch (flaw) {
    case 'read back without a flush':
    case 'keys are taken over without a flush':
    case 'changes without a flush':
      return withoutFlush(driver)
    case 'keys are taken over without a fence':
      return withoutFences(driver)
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

/** The time of writers. With the flaw they do not wait for queries of others before they delete rows. */
export function writersTime(
  time: Time,
  { queryTimeMs }: { readonly queryTimeMs: number },
  flaw: Flaw | undefined,
): Time {
  if (flaw !== 'writers delete at once') return time
  return { ...time, sleep: (ms, signal) => time.sleep(ms > queryTimeMs ? 0 : ms, signal) }
}

/** What the cleaner of a process works on, with the flaw. */
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

function withoutFlush(driver: Driver): Driver {
  return changed(driver, { shard: () => ({ flush: async () => {} }) })
}

/** A driver whose fences do nothing: what writes the very body that was read, or a tombstone where nothing is. */
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

/** A server has time to crash between what a drain has read and what it does on the strength of it. */
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

/** The store as clients have it, with the flaw. */
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

/** The options of a read from replicas, which do not count. */
function old(argument: unknown, flaw: Flaw): unknown {
  if (typeof argument !== 'object' || argument === null || !('from' in argument)) return argument
  if (flaw === 'tokens are ignored') return { ...argument, after: undefined }
  return { ...argument, maxStalenessMs: Number.MAX_SAFE_INTEGER }
}

/** A query that never says that it took too long. */
function complete(store: DataStore, flaw: Flaw): DataStore['query'] {
  return async (...args) => {
    const page = await store.query(...args)
    if (flaw === 'pages of replicas are not bounded' && page.cost.asOf === undefined) return page
    return { ...page, cost: { ...page.cost, complete: true } }
  }
}

/** Seldom, for notes to wait while their entities move on. */
const DRAIN_EVERY_MS = 100

/** Whether this flaw is one of draining alone, so that no other cleaner is to be there. */
export const onlyDrains = (flaw: Flaw | undefined): boolean => flaw === 'drain without a flush'

/** Drains, and does nothing else that a cleaner does, until it is over. */
export async function keepDraining(cleaned: CleanerStore, time: Time, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    // What fails is tried again, as a cleaner would.
    await drainPending(cleaned).catch(() => undefined)
    await time.sleep(DRAIN_EVERY_MS)
  }
}
