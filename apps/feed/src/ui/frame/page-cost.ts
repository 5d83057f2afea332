import { tableKind, type Trace } from 'looseleaf'

/** Cost of a page in the store so far. */
export interface PageCost {
  readonly calls: number
  /** Error code of each failed call, such as `SHARD_UNAVAILABLE`. */
  readonly failures: readonly string[]
  /** Statements to index tables. */
  readonly indexes: number
  /** Statements to the entities. */
  readonly entities: number
  /** Statements to the store's own tables. */
  readonly others: number
  /** Number of shards that were asked. */
  readonly shards: number
  /** Statements that were shared with other requests. */
  readonly shared: number
  /** Index rows that were read in vain: their entity had changed, was deleted, or was a duplicate. */
  readonly rowsDiscarded: number
  /** Entities that were read. */
  readonly entitiesRead: number
  /** False if an index could not answer in full. */
  readonly isComplete: boolean
}

/** Adds up a trace. */
export function costOf({ calls, statements, events, entitiesRead, incompletePages }: Trace): PageCost {
  const kinds = statements.map(({ table }) => tableKind(table))
  const entities = kinds.filter((kind) => kind === 'entities').length
  const others = kinds.filter((kind) => kind === 'own').length
  return {
    calls: calls.length,
    failures: calls.flatMap(({ failure }) => failure ?? []),
    indexes: kinds.length - entities - others,
    entities,
    others,
    shards: new Set(statements.map(({ shard }) => shard)).size,
    shared: statements.filter((statement) => statement.others > 0).length,
    rowsDiscarded: events.reduce((sum, event) => sum + (event.kind === 'discarded' ? event.rows : 0), 0),
    entitiesRead,
    isComplete: incompletePages === 0,
  }
}
