import { tableKind } from '@looseleaf/core'
import type { Trace } from '@looseleaf/store'
import type { TracedCall, TracedStatement } from '@looseleaf/store/internal'

/** A read of index rows on one shard, and the read of entities on another one to which these rows led. */
export interface Join {
  readonly rows: TracedStatement
  readonly entities: TracedStatement
}

/** A sum of a start and a duration differs from the end by the rounding of numbers; in milliseconds. */
const ROUNDING_MS = 0.001

/**
 * Returns the joins of a trace across shards. A call that reads rows and then entities joins them. For a call that reads entities by their ids,
 * such as `getMany`, the ids come from the application: the rows of the last call that ended before it count, if that read rows alone.
 */
export function joinsOf({ calls, statements }: Trace): readonly Join[] {
  const reads = statements.filter(({ operation, failure }) => operation === 'SELECT' && failure === undefined)
  const rowsOf = byCall(reads.filter(({ table, rows }) => tableKind(table) === 'index' && rows > 0))
  const entitiesOf = byCall(reads.filter(({ table }) => tableKind(table) === 'entities'))
  const joins = new Map<string, Join>()
  for (const call of calls) {
    const found = entitiesOf.get(call) ?? []
    const led =
      rowsOf.get(call) ?? rowsOf.get(lastBefore(call, [...rowsOf.keys()], entitiesOf) as TracedCall) ?? []
    for (const entities of found)
      for (const rows of led)
        if (rows.shard !== entities.shard && rows.sentAt + rows.durationMs <= entities.sentAt + ROUNDING_MS)
          joins.set(`${statements.indexOf(rows)} ${statements.indexOf(entities)}`, { rows, entities })
  }
  return [...joins.values()]
}

function byCall(statements: readonly TracedStatement[]): ReadonlyMap<TracedCall, readonly TracedStatement[]> {
  const pairs = statements.flatMap((statement) => statement.calls.map((call) => ({ call, statement })))
  const groups = Map.groupBy(pairs, ({ call }) => call)
  return new Map(Array.from(groups, ([call, group]) => [call, group.map(({ statement }) => statement)]))
}

/** Returns the last of these calls that had ended when another began, and that read no entities. */
function lastBefore(
  { startedAt }: TracedCall,
  calls: readonly TracedCall[],
  entitiesOf: ReadonlyMap<TracedCall, unknown>,
): TracedCall | undefined {
  const endOf = (call: TracedCall): number => call.startedAt + (call.durationMs ?? Infinity)
  return calls
    .filter((call) => !entitiesOf.has(call) && endOf(call) <= startedAt + ROUNDING_MS)
    .toSorted((a, b) => endOf(a) - endOf(b))
    .at(-1)
}
