import { tableKind, type Trace } from 'looseleaf'

/** Numbers of the store's calls for a piece of work, and of the statements for them, by kind of table. */
export interface Sent {
  readonly calls: number
  /** Error code of each failed call, such as `SHARD_UNAVAILABLE`. */
  readonly failures: readonly string[]
  readonly indexes: number
  readonly entities: number
  /** Statements to the store's own tables. */
  readonly others: number
  /** Number of shards that were asked. */
  readonly shards: number
  /** Statements that were shared with other requests. */
  readonly shared: number
}

/** Returns the numbers of a trace so far; zeros without a trace. */
export function sentFor(trace: Trace | undefined): Sent {
  const statements = trace?.statements ?? []
  const kinds = statements.map(({ table }) => tableKind(table))
  const entities = kinds.filter((kind) => kind === 'entities').length
  const others = kinds.filter((kind) => kind === 'own').length
  return {
    calls: trace?.calls.length ?? 0,
    failures: trace?.calls.flatMap(({ failure }) => failure ?? []) ?? [],
    indexes: kinds.length - entities - others,
    entities,
    others,
    shards: new Set(statements.map(({ shard }) => shard)).size,
    shared: statements.filter((statement) => statement.others > 0).length,
  }
}
