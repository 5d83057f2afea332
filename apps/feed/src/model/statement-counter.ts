import type { DriverFactory, Shard } from 'looseleaf'

/** Statements that were sent to the databases, by what they read or wrote. */
export interface Sent {
  readonly indexes: number
  readonly entities: number
  /** To the tables that the store keeps for itself. */
  readonly others: number
  /** Shards that they went to. */
  readonly shards: number
}

export interface StatementCounter {
  /** The same shards, counted. */
  readonly shards: DriverFactory
  /** Begins to count; the function that it gives answers what was sent since then, for everybody. */
  start(): () => Sent
}

type Scan = Partial<Parameters<ReturnType<Shard['index']>['scanMany']>[0][number]>

const KINDS = ['indexes', 'entities', 'others'] as const
type Kind = (typeof KINDS)[number]
type Tally = Record<Kind, number>

/**
 * Counts statements where the store sends them, after the calls of any number of pages were gathered into them: a call
 * of a table is a statement, as long as it reads; one for many scans or counts is a statement for those that differ in values alone.
 */
export function countStatements(factory: DriverFactory): StatementCounter {
  const tallies: Tally[] = Array.from({ length: factory.shardCount }, () => ({
    indexes: 0,
    entities: 0,
    others: 0,
  }))

  return {
    shards: {
      shardCount: factory.shardCount,
      async connect() {
        const connected = await factory.connect()
        const shards = connected.shards.map((shard, i) => countedShard(shard, tallies[i] as Tally))
        return { shards, close: () => connected.close() }
      },
    },
    start() {
      const before = tallies.map((tally) => ({ ...tally }))
      return () => {
        const sent = { indexes: 0, entities: 0, others: 0, shards: 0 }
        for (const [i, tally] of tallies.entries()) {
          const start = before[i] as Tally
          for (const kind of KINDS) sent[kind] += tally[kind] - start[kind]
          if (KINDS.some((kind) => tally[kind] > start[kind])) sent.shards++
        }
        return sent
      }
    },
  }
}

function countedShard(shard: Shard, tally: Tally): Shard {
  const tables = new Map<string, ReturnType<Shard['index']>>()
  const claims = new Map<string, ReturnType<Shard['claims']>>()
  return {
    ...shard,
    entities: counted(shard.entities, tally, 'entities'),
    catalog: counted(shard.catalog, tally, 'others'),
    tasks: counted(shard.tasks, tally, 'others'),
    pending: counted(shard.pending, tally, 'others'),
    definitions: counted(shard.definitions, tally, 'others'),
    index(spec) {
      const known = tables.get(spec.table)
      if (known !== undefined) return known
      const table = counted(shard.index(spec), tally, 'indexes')
      tables.set(spec.table, table)
      return table
    },
    claims(spec) {
      const known = claims.get(spec.table)
      if (known !== undefined) return known
      const table = counted(shard.claims(spec), tally, 'indexes')
      claims.set(spec.table, table)
      return table
    },
  }
}

/** The same object, with every call of a method counted. */
function counted<Port extends object>(port: Port, tally: Tally, kind: Kind): Port {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        // A port's method gets what its type says.
        tally[kind] += /^(scan|count)Many$/.test(String(name)) ? kindsOf(args[0] as readonly Scan[]) : 1
        return Reflect.apply(value, target, args)
      }
    },
  })
}

/** How many different scans, or ranges to count, there are but for their values. */
function kindsOf(scans: readonly Scan[]): number {
  const kinds = scans.map(({ prefix, lower, upper, order, after, included }) =>
    [
      prefix?.length,
      lower?.inclusive,
      upper?.inclusive,
      order,
      after && after.inclusive === true,
      included,
    ].join(),
  )
  return new Set(kinds).size
}
