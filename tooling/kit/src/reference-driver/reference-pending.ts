import type { PendingRow, PendingTable } from '@looseleaf/core/internal'

export interface ReferencePending extends PendingTable {
  /** All rows. */
  readonly rows: readonly PendingRow[]
  /** Adds a row within the transaction of a write that defers rows. */
  addDeferred(row: PendingRow): void
  restore(rows: readonly PendingRow[]): void
}

export function createReferencePending(checkEpoch: (epoch: number) => void): ReferencePending {
  const rows = new Map<string, PendingRow>()
  const keyOf = ({ entityId, table }: Pick<PendingRow, 'entityId' | 'table'>): string =>
    `${Buffer.from(entityId).toString('hex')} ${table}`
  const put = (row: PendingRow): void => {
    const version = Math.max(row.version, rows.get(keyOf(row))?.version ?? 0)
    rows.set(keyOf(row), { ...row, version })
  }
  return {
    get rows() {
      return [...rows.values()]
    },
    addDeferred: put,
    async add(added, { epoch }) {
      checkEpoch(epoch)
      for (const { entityId, table, version } of added) put({ entityId, table, version })
    },
    restore(before) {
      rows.clear()
      for (const row of before) rows.set(keyOf(row), row)
    },
    tables: async () => [...new Set(Array.from(rows.values(), (row) => row.table))],
    page: async ({ after, except = [], limit }) =>
      [...rows.values()]
        .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
        .filter((row) => !except.includes(row.table) && (after === undefined || keyOf(row) > keyOf(after)))
        .slice(0, limit),
    async remove(removals, { epoch } = {}) {
      if (epoch !== undefined) checkEpoch(epoch)
      const gone = removals.filter(
        (removal) => (rows.get(keyOf(removal))?.version ?? Infinity) < removal.before,
      )
      for (const removal of gone) rows.delete(keyOf(removal))
      return gone.length
    },
  }
}
