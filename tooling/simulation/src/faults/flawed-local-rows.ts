import type { Driver, Shard } from '@looseleaf/core'
import type { EntityInsert, LocalRows } from '@looseleaf/core/internal'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import type { Flaw } from './flaws.ts'

type Tables = Pick<Shard, 'index'>

/** Upserts the local rows of entities by statements of their own. */
export async function upsertLocalRows(shard: Tables, entities: readonly EntityInsert[]): Promise<void> {
  for (const { local } of entities)
    for (const { spec, rows } of local?.upsert ?? []) await shard.index(spec).upsert(rows)
}

/** Deletes the local rows that entities have lost by statements of their own. */
export async function removeLocalRows(shard: Tables, entities: readonly EntityInsert[]): Promise<void> {
  for (const { id, version, local } of entities)
    for (const { spec, rows } of local?.remove ?? [])
      await shard.index(spec).remove(rows.map(({ key }) => ({ key, entityId: id, before: version })))
}

/** Leaves out some of the local rows of entities. */
export function withoutLocal<Row extends EntityInsert>(
  rows: readonly Row[],
  part: Extract<keyof LocalRows, 'upsert' | 'remove'>,
): readonly Row[] {
  return rows.map((row) => ({ ...row, local: row.local && { ...row.local, [part]: undefined } }))
}

/** Returns a driver that writes local rows outside of the transaction of their entity: behind it, or before. */
export function withLocalRowsApart(driver: Driver, flaw: Flaw): Driver {
  const areLate = flaw === 'local rows follow their entity'
  return changed(driver, {
    entities(table, number) {
      const shard = driver.shards[number]!
      return {
        async insert(rows, options) {
          if (!areLate) await removeLocalRows(shard, rows)
          await table.insert(withoutLocal(rows, areLate ? 'upsert' : 'remove'), options)
          if (areLate) await upsertLocalRows(shard, rows)
        },
        async replace(rows, options) {
          if (!areLate) await removeLocalRows(shard, rows)
          const won = await table.replace(withoutLocal(rows, areLate ? 'upsert' : 'remove'), options)
          if (areLate)
            await upsertLocalRows(
              shard,
              rows.filter((_, i) => won[i]),
            )
          return won
        },
      }
    },
  })
}
