import { formatId } from '@looseleaf/core'
import { expectedIn } from './derive-entity.ts'
import type { MissingRow } from './inspect.ts'
import { recheck } from './recheck.ts'
import { readDerived } from './read-entities.ts'
import { tableOn } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'

/** Reports each of these missing claims whose key another committed entity has. */
export async function reportDuplicates(pass: Pass, claims: readonly MissingRow[]): Promise<void> {
  for (const { entity, target, row } of claims) {
    const table = tableOn(target, row.shard)
    const [claim] = await table.scan({ prefix: row.key, order: 'asc', limit: 1 }, { signal: pass.signal })
    if (claim === undefined) continue
    const [owner] = await recheck(pass, (silentPass) => readDerived(silentPass, [target], [claim.entityId]))
    const hasKey = owner && expectedIn(owner, target).some(({ identity }) => identity === row.identity)
    if (hasKey !== true) continue
    reportDuplicate(pass, target.entry.name, entity.id, claim.entityId)
  }
}

export function reportDuplicate(pass: Pass, index: string, id: Uint8Array, holderId: Uint8Array): void {
  const holder = formatId(holderId)
  const reason = `index ${index} is unique, and entity ${holder} has the same key`
  pass.report({ kind: 'duplicate', id, index, holder, reason })
}
