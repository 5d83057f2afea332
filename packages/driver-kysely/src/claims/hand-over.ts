import type { HandedClaim } from '@looseleaf/core/internal'
import type { Flavor } from '../database/flavor.ts'
import { toCount } from '../database/row-values.ts'
import type { Call, Session } from '../database/session.ts'
import { claimStatements } from './claim-statements.ts'

/** Creates the step of a batch that gives a claim to another entity. It returns whether `from` held the claim. */
export function createHandOver(
  flavor: Flavor,
): (claim: HandedClaim, call: Call, inner: Session) => Promise<boolean> {
  return async ({ spec, key, from, to }, call, inner) => {
    const query = inner.shape(`${spec.table} handOver`, () => claimStatements(spec, flavor).handOver())
    const parameters = [to.entityId, to.version, ...key, from, ...flavor.ownSession.parameters]
    return toCount((await inner.run(query, parameters, call)).numAffectedRows) === 1
  }
}
