import { tableKind, type Trace } from 'looseleaf'

/** Calls of the store that were made for something, and the statements that were sent for them, by what they read or wrote. */
export interface Sent {
  readonly calls: number
  /** What each call that has failed has failed with, such as `SHARD_UNAVAILABLE`. */
  readonly failures: readonly string[]
  readonly indexes: number
  readonly entities: number
  /** To the tables that the store keeps for itself. */
  readonly others: number
  /** Shards that they went to. */
  readonly shards: number
  /** Those that were sent for others as well. */
  readonly shared: number
}

/** What has been asked for the work of this trace so far; nothing where none is kept. */
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
