import { LooseleafError } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { toNumber } from './row-values.ts'
import type { Call, Session } from './session.ts'
import { parameter } from './sql-parts.ts'
import { META_TABLE } from './table-names.ts'

export const staleEpoch = [
  'STALE_EPOCH',
  'the catalog has another epoch than this write; nothing was written.',
] as const

/** Condition of a statement: the shard has this epoch. A change of the catalog waits for the statement. Parameter: the epoch. */
export function hasEpoch(flavor: Flavor): RawBuilder<boolean> {
  return sql<boolean>`(SELECT epoch FROM ${sql.table(META_TABLE)} WHERE id = 1 ${flavor.shareLock}) = ${parameter}`
}

/** Throws `STALE_EPOCH` if the shard has another epoch than this one. Call it after a fenced statement that changed nothing or was refused. */
export async function refuseStaleEpoch(
  session: Session,
  shardName: string,
  epoch: number,
  call: Call,
): Promise<void> {
  const { rows } = await session.run(
    session.shape('epoch', () => sql`SELECT epoch FROM ${sql.table(META_TABLE)} WHERE id = 1`),
    [],
    { ...call, write: false },
  )
  if (rows[0] !== undefined && toNumber(rows[0].epoch) === epoch) return
  throw new LooseleafError(staleEpoch[0], `${shardName}: ${staleEpoch[1]}`, { shard: shardName })
}
