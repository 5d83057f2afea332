import type { PendingRow, PendingTable } from '@looseleaf/core'

export function createReferencePending(): { readonly table: PendingTable; add(row: PendingRow): void } {
  const rows = new Map<string, PendingRow>()
  const keyOf = ({ entityId, table }: Pick<PendingRow, 'entityId' | 'table'>): string =>
    `${Buffer.from(entityId).toString('hex')} ${table}`
  return {
    add(row) {
      const version = Math.max(row.version, rows.get(keyOf(row))?.version ?? 0)
      rows.set(keyOf(row), { ...row, version })
    },
    table: {
      tables: async () => [...new Set(Array.from(rows.values(), (row) => row.table))],
      page: async (limit) => [...rows.values()].slice(0, limit),
      async remove(removals) {
        const gone = removals.filter(
          (removal) => (rows.get(keyOf(removal))?.version ?? Infinity) < removal.before,
        )
        for (const removal of gone) rows.delete(keyOf(removal))
        return gone.length
      },
    },
  }
}
