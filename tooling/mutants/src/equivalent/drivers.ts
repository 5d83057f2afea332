import type { Equivalents } from '../equivalent.ts'

const aName = 'A prepared statement is found by any name that no other has.'

export const drivers: Equivalents = {
  'driver-kysely/database/epoch-fence': {
    "refuseStaleEpoch: session.shape('epoch', () => sql`SELECT epoch FROM ${sql.table(META_TABLE)} WHERE id = 1`) → session.shape('', () => sql`SELECT epoch FROM ${sql.table(META_TABLE)} WHERE id = 1`)":
      aName,
  },
  'driver-kysely/entities/entity-table': {
    "createEntityTable.pageByAdded: session.shape('pageByAdded', () => statements.pageByAdded()) → session.shape('', () => statements.pageByAdded())":
      aName,
    'createEntityTable.lastAddedId: row.last_added_id ?? 0 → (row.last_added_id)': 'NULL as a number is 0.',
    'createEntityTable.extent: row.last_added_id ?? 0 → (row.last_added_id)': 'NULL as a number is 0.',
  },
  'driver-mysql/kysely/batched-swap': {
    'swapStatement: sql` UNION ALL` → sql` UNION`': 'No two rows of a swap have one id.',
  },
}
