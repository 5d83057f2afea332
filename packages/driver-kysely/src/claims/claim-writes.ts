import { directionsOf, type IndexRow, type IndexTableSpec } from '@looseleaf/core/internal'
import type { Flavor } from '../database/flavor.ts'
import type { BoundStatement, FaultCodes, Session } from '../database/session.ts'
import { indexCalls, indexFaults } from '../indexes/index-calls.ts'
import { inChunks } from '../indexes/index-writes.ts'
import { claimsByKey } from '../indexes/key-order.ts'
import { claimStatements, takeParameters } from './claim-statements.ts'

/** Returns statements that take claims, in the order of their keys. A claim of another entity fails its statement as `DUPLICATE_KEY`. */
export function claimTakes(
  { session, flavor }: { readonly session: Pick<Session, 'shape'>; readonly flavor: Flavor },
  spec: IndexTableSpec,
): (rows: readonly IndexRow[]) => readonly BoundStatement[] {
  const statements = claimStatements(spec, flavor)
  const directions = directionsOf(spec.columns)
  const { shape } = indexCalls(session, spec)
  const { parameters: sessionParameters } = flavor.ownSession
  const faults: FaultCodes = {
    ...indexFaults(spec),
    'fence-refused': ['DUPLICATE_KEY', `another entity has a claim in ${spec.table}; nothing was written.`],
  }

  function take(rows: readonly IndexRow[]): BoundStatement {
    const query = shape(`take or fail ${rows.length}`, () => statements.takeOrFail(rows.length))
    return { query, parameters: takeParameters(rows, sessionParameters), faults }
  }

  return (rows) => inChunks(claimsByKey(rows, directions), take)
}
